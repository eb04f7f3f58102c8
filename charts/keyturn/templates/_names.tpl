{{- /* Names and labels. */ -}}

{{- define "keyturn.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "keyturn.fullname" -}}
{{- $name := include "keyturn.name" . }}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* The name of what one process of the operator has for itself: Deployment, roles, budgets. Takes a process, see keyturn.processes. */ -}}
{{- define "keyturn.processName" -}}
{{- include "keyturn.fullname" . }}{{ with .Process }}-{{ . }}{{ end }}
{{- end }}

{{- define "keyturn.serviceAccountName" -}}
{{- $own := .Values.serviceAccount.name | default (ternary (include "keyturn.fullname" .) "default" .Values.serviceAccount.create) }}
{{- $own }}{{ with .Process }}-{{ . }}{{ end }}
{{- end }}

{{- define "keyturn.agentServiceAccountName" -}}
{{- with .Values.agent.serviceAccount -}}
{{- if .create }}{{ .name | default (printf "%s-agent" (include "keyturn.fullname" $)) }}{{ else }}{{ .name | default "default" }}{{ end }}
{{- end }}
{{- end }}

{{- define "keyturn.agentNamespace" -}}
{{- .Values.agent.namespace | default .Release.Namespace }}
{{- end }}

{{- /* What selects pods: never changes. Takes the root, or a process for its pods alone, and a component. */ -}}
{{- define "keyturn.selectorLabels" -}}
app.kubernetes.io/name: {{ include "keyturn.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- with .root.Process }}
keyturn.io/controller: {{ . }}
{{- end }}
{{- end }}

{{- /* The labels of pods, as YAML: none that changes with the chart's version, or every new chart would restart them. Takes the root, a component and labels. */ -}}
{{- define "keyturn.podLabels" -}}
{{- merge (dict) (include "keyturn.selectorLabels" . | fromYaml) .labels .root.Values.commonLabels | toYaml }}
{{- end }}

{{- /* The labels of every object. Takes the root, for parts of the operator or the agent a component, and labels of its own. The chart's win. */ -}}
{{- define "keyturn.labels" -}}
{{- $standard := dict
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_")
  "app.kubernetes.io/name" (include "keyturn.name" .root)
  "app.kubernetes.io/instance" .root.Release.Name
  "app.kubernetes.io/version" .root.Chart.AppVersion
  "app.kubernetes.io/managed-by" .root.Release.Service
  "app.kubernetes.io/part-of" "keyturn" }}
{{- with .component }}{{ $_ := set $standard "app.kubernetes.io/component" . }}{{ end }}
{{- merge (dict) $standard (.labels | default dict) .root.Values.commonLabels | toYaml }}
{{- end }}

{{- /* The metadata of an object. Takes the root, a name, and what is wanted of namespace, component, labels and annotations. */ -}}
{{- define "keyturn.metadata" -}}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "keyturn.labels" . | nindent 4 }}
  {{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- /* The metadata of a CustomResourceDefinition. */ -}}
{{- define "keyturn.crdMetadata" -}}
{{- $keep := ternary (dict "helm.sh/resource-policy" "keep") dict .root.Values.crds.keep }}
{{- include "keyturn.metadata" (dict "root" .root "name" .name "annotations" $keep) }}
{{- end }}

{{- define "keyturn.image" -}}
{{- with .Values.image -}}
{{- $name := .repository }}
{{- if .registry }}{{ $name = printf "%s/%s" .registry .repository }}{{ end }}
{{- if .digest }}{{ printf "%s@%s" $name .digest }}{{ else }}{{ printf "%s:%s" $name (.tag | default $.Chart.AppVersion) }}{{ end }}
{{- end }}
{{- end }}
