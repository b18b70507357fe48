{{- define "tidings.labels" -}}
app.kubernetes.io/name: tidings
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "tidings.fullname" -}}
{{ printf "%s-%s" .root.Release.Name .name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "tidings.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "tidings.serviceAccount" -}}
{{- if .root.Values.serviceAccount.perProcess }}{{ printf "%s-%s" .root.Release.Name .name }}
{{- else }}{{ .root.Values.serviceAccount.name | default .root.Release.Name }}
{{- end }}
{{- end }}

{{- define "tidings.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "tidings.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "tidings.environment" -}}
env:
  - {name: TIDINGS_PROCESS_ADMIN_HOST, value: "0.0.0.0"}
  - {name: TIDINGS_PROCESS_ADMIN_PORT, value: "9500"}
  - {name: TIDINGS_PROCESS_DRAIN_S, value: {{ .Values.drainSeconds | quote }}}
  - {name: TIDINGS_PROCESS_STOP_S, value: {{ .Values.stopSeconds | quote }}}
  - {name: TIDINGS_API_HOST, value: "0.0.0.0"}
  - {name: TIDINGS_GATEWAY_HOST, value: "0.0.0.0"}
  - {name: TIDINGS_CONSOLE_HOST, value: "0.0.0.0"}
  {{- if .Values.masterKey.secretName }}
  - {name: TIDINGS_ENCRYPTION_CREDENTIAL_FILE, value: "/run/tidings/{{ .Values.masterKey.key }}"}
  {{- end }}
{{- if .Values.secretName }}
envFrom:
  - secretRef: {name: {{ .Values.secretName }}}
{{- end }}
volumeMounts:
  - {name: settings, mountPath: /etc/tidings, readOnly: true}
  - {name: tmp, mountPath: /tmp}
  {{- if .Values.masterKey.secretName }}
  - {name: master-key, mountPath: /run/tidings, readOnly: true}
  {{- end }}
{{- end }}

{{- define "tidings.volumes" -}}
volumes:
  - name: settings
    configMap: {name: {{ .settingsName | default .Release.Name }}}
  - name: tmp
    emptyDir: {}
  {{- if .Values.masterKey.secretName }}
  - name: master-key
    secret: {secretName: {{ .Values.masterKey.secretName }}, defaultMode: 0440}
  {{- end }}
{{- end }}
