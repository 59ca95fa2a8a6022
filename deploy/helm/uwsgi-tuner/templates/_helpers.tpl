{{- define "tuner.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{- define "tuner.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* What selects the pods of a part: (list $ "api"). */}}
{{- define "tuner.part" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- /* Every pod. The security context comes last: a caller may add lines to it. */}}
{{- define "tuner.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false # a Service `tuner` would set TUNER_PORT, which is a setting
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* Every container of ours. */}}
{{- define "tuner.container" -}}
{{- with .Values.image -}}
image: {{ required "image.repository: name the image that you pushed" .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
imagePullPolicy: {{ .pullPolicy }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- /* The variables of a part: (list $ "api"). */}}
{{- define "tuner.env" -}}
{{- $ := index . 0 }}{{ $part := index . 1 -}}
- name: TUNER_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ required "database.secret: name a Secret with the URL of PostgreSQL" $.Values.database.secret | quote }}
      key: {{ index $.Values.database.keys $part | quote }}
{{- range $name, $text := $.Values.settings }}
- {name: {{ $name }}, value: {{ $text | quote }}}
{{- end }}
{{- end }}

{{- define "tuner.mounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: home, mountPath: /var/lib/tuner}
{{- with .Values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "tuner.volumes" -}}
- {name: tmp, emptyDir: {medium: Memory, sizeLimit: 64Mi}}
- {name: home, emptyDir: {medium: Memory, sizeLimit: 64Mi}}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* How a worker reaches its engine. */}}
{{- define "tuner.engine" -}}
- {name: DOCKER_HOST, value: "unix://{{ if eq .Values.worker.engine.kind "sidecar" }}/run/engine{{ else }}/var/run{{ end }}/docker.sock"}
{{- if .Values.worker.registrySecret }}
- {name: DOCKER_CONFIG, value: /etc/uwsgi-tuner/registry}
{{- end }}
{{- end }}

{{- define "tuner.engineMounts" -}}
{{ include "tuner.mounts" . }}
- {name: engine, mountPath: {{ if eq .Values.worker.engine.kind "sidecar" }}/run/engine{{ else }}/var/run/docker.sock{{ end }}}
{{- if .Values.worker.registrySecret }}
- {name: registry, mountPath: /etc/uwsgi-tuner/registry, readOnly: true}
{{- end }}
{{- end }}
