"""Settings of other servers: durable, with their archive, and without limits that would be measured instead of them."""

EJABBERD = """\
loglevel: error
hosts: [localhost]
default_db: sql
sql_type: pgsql
sql_server: "127.0.0.1"
sql_port: {database_port}
sql_database: ejabberd
sql_username: postgres
sql_password: "trusted"
sql_pool_size: 10
auth_method: sql
auth_password_format: plain
listen:
  - port: {port}
    ip: "127.0.0.1"
    module: ejabberd_http
    request_handlers:
      /ws: ejabberd_http_ws
      /api: mod_http_api
acl:
  loopback:
    ip: [127.0.0.0/8]
api_permissions:
  "loopback":
    who: {{access: {{allow: [{{acl: loopback}}]}}}}
    what: [register, check_account]
shaper_rules:
  max_user_sessions: 10000
access_rules:
  all_of_them: {{allow: all}}
modules:
  mod_http_api: {{}}
  mod_disco: {{}}
  mod_mam: {{default: always, request_activates_archiving: false, assume_mam_usage: true}}
  mod_muc:
    access: all_of_them
    access_create: all_of_them
    access_mam: [allow]
    max_users: 20000
    max_user_conferences: 1000
    max_users_presence: 0
    default_room_options: {{mam: true, persistent: false, max_users: 20000}}
  mod_offline: {{}}
  mod_roster: {{}}
  mod_stream_mgmt: {{resend_on_timeout: false}}
"""

SYNAPSE = """\
server_name: localhost
pid_file: {place}/synapse.pid
report_stats: false
listeners:
  - port: {port}
    type: http
    bind_addresses: ["127.0.0.1"]
    resources: [{{names: [client]}}]
database:
  name: psycopg2
  args: {{user: postgres, host: 127.0.0.1, port: {database_port}, dbname: synapse, cp_min: 5, cp_max: 10}}
log_config: {place}/log.yaml
media_store_path: {place}/media
signing_key_path: {place}/signing.key
registration_shared_secret: loopback-bench-registration
macaroon_secret_key: loopback-bench-macaroon
form_secret: loopback-bench-form
trusted_key_servers: []
bcrypt_rounds: 4
presence: {{enabled: false}}
rc_message: &unlimited {{per_second: 100000, burst_count: 100000}}
rc_registration: *unlimited
rc_login: {{address: *unlimited, account: *unlimited, failed_attempts: *unlimited}}
rc_joins: {{local: *unlimited, remote: *unlimited}}
rc_joins_per_room: *unlimited
rc_invites: {{per_room: *unlimited, per_user: *unlimited, per_issuer: *unlimited}}
rc_room_creation: *unlimited
"""

SYNAPSE_LOG = """\
version: 1
handlers:
  file: {{class: logging.FileHandler, filename: {place}/synapse.log}}
root: {{level: ERROR, handlers: [file]}}
"""
