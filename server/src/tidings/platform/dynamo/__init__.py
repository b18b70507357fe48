"""DynamoDB: how a call to it is named. (The client comes beside this.)"""
