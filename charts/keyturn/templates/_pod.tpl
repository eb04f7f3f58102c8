{{- /* What the pods of the operator and of the agent have in common. */ -}}

{{- /* The token, mounted where Kubernetes itself would mount it, in the one container that needs it. */ -}}
{{- define "keyturn.tokenVolume" -}}
- name: token
  projected:
    sources:
      - serviceAccountToken:
          path: token
          expirationSeconds: 3607
      - configMap:
          name: kube-root-ca.crt
          items:
            - key: ca.crt
              path: ca.crt
      - downwardAPI:
          items:
            - path: namespace
              fieldRef:
                fieldPath: metadata.namespace
{{- end }}

{{- define "keyturn.tokenMount" -}}
- name: token
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end }}

{{- define "keyturn.certificateVolume" -}}
{{- with .Values.trustedCertificates }}
{{- if or .configMap .secret }}
- name: trusted-certificates
  {{- if .configMap }}
  configMap:
    name: {{ .configMap }}
  {{- else }}
  secret:
    secretName: {{ .secret }}
  {{- end }}
    items:
      - key: {{ .key }}
        path: ca.crt
{{- end }}
{{- end }}
{{- end }}

{{- /* What is mounted for metrics by HTTPS. */ -}}
{{- define "keyturn.metricsCertificate" -}}
{{- ternary .Values.metrics.certificateSecret "" (and .Values.metrics.enabled .Values.metrics.secure) }}
{{- end }}

{{- define "keyturn.certificateMount" -}}
{{- with .Values.trustedCertificates }}
{{- if or .configMap .secret }}
- name: trusted-certificates
  mountPath: /etc/keyturn/trusted-certificates
  readOnly: true
{{- end }}
{{- end }}
{{- end }}

{{- /* Environment variables from values. */ -}}
{{- define "keyturn.environment" -}}
{{- with .Values.proxy }}
{{- with .http }}
- name: HTTP_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .https }}
- name: HTTPS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- with .noProxy }}
- name: NO_PROXY
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- if or .Values.trustedCertificates.configMap .Values.trustedCertificates.secret }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/keyturn/trusted-certificates/ca.crt
{{- end }}
{{- end }}

{{- /* The pod's own settings, from values that operator and agent share. */ -}}
{{- define "keyturn.podSettings" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if not (kindIs "invalid" .Values.hostUsers) }}
hostUsers: {{ .Values.hostUsers }}
{{- end }}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with .Values.dnsPolicy | default (ternary "ClusterFirstWithHostNet" "" .Values.hostNetwork) }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.schedulerName }}
schedulerName: {{ . }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
{{- end }}

{{- define "keyturn.container" -}}
image: {{ include "keyturn.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
{{- end }}
