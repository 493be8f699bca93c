{{/* What all resources of a release have in common. */}}
{{- define "perennial.labels" -}}
app.kubernetes.io/name: perennial
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "perennial.selector" -}}
app.kubernetes.io/name: perennial
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Of a pod: the user of the image, and nothing that the service does not need. */}}
{{- define "perennial.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "perennial.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
    - ALL
{{- end }}

{{- define "perennial.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{/* The folder below the volume belongs to the service alone; a volume itself may be open to every user of the pod. */}}
{{- define "perennial.env" -}}
- name: PUBLIC_URL
  value: {{ .Values.publicUrl | quote }}
- name: DATA_DIR
  value: /data/perennial
{{- range .Values.secretKeys }}
- name: {{ . }}_FILE
  value: /run/secrets/perennial/{{ . }}
{{- end }}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "perennial.mounts" -}}
- name: secrets
  mountPath: /run/secrets/perennial
  readOnly: true
- name: data
  mountPath: /data
- name: tmp
  mountPath: /tmp
{{- end }}

{{- define "perennial.volumes" -}}
- name: secrets
  secret:
    secretName: {{ .Values.existingSecret }}
    defaultMode: 0440
    items:
      {{- range .Values.secretKeys }}
      - key: {{ . }}
        path: {{ . }}
      {{- end }}
- name: tmp
  emptyDir: {}
- name: data
  {{- if .Values.files.existingClaim }}
  persistentVolumeClaim:
    claimName: {{ .Values.files.existingClaim }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}

{{- define "perennial.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
