{{- /* Where which right is needed: rights declared by controllers, gathered by place. */ -}}

{{- /* All rights of the operator as a YAML list, as the controllers declare them. */ -}}
{{- define "keyturn.rights" -}}
{{- range $name, $values := .Values.controllers }}
{{- if $values.enabled }}
{{- include (printf "keyturn.rights.%s" $name) $values }}
{{- end }}
{{- end }}
{{- if .Values.dashboard.enabled }}
{{- include "keyturn.rights.dashboard" . }}
{{- end }}
{{- include "keyturn.rights.manager" . }}
{{- end }}

{{- /*
Roles by place, as YAML: namespaces, and "*" for the whole cluster; in each, rules by resource. What is granted in the whole cluster is not granted
again in a namespace. An operator that is limited to namespaces gets its rights there, and in the whole cluster only to what belongs to no namespace.
*/ -}}
{{- define "keyturn.places" -}}
{{- $limited := .Values.namespaces }}
{{- $own := .Values.leaderElectNamespace | default .Release.Namespace }}
{{- $root := . }}
{{- $wanted := list }}
{{- $seesCluster := false }}
{{- range include "keyturn.rights" . | fromYamlArray }}
{{- $places := list "*" }}
{{- if .own }}{{ $places = list $own }}{{ else if .namespace }}{{ $places = list .namespace }}{{ else if and $limited .namespaced }}{{ $places = $limited }}{{ end }}
{{- if not .namespaced }}
{{- $seesCluster = true }}
{{- if and $limited (not $root.Values.rbac.clusterRoles) }}
{{- fail (printf "namespaces: %s belong to no namespace, and are needed by sidecars, by the web page, and by checksums that are chosen by labels of namespaces. Switch that off or, to give a ClusterRole for it, set rbac.clusterRoles: true" .resource) }}
{{- end }}
{{- end }}
{{- $wanted = append $wanted (dict "places" $places "right" .) }}
{{- end }}
{{- if and .Values.metrics.enabled .Values.metrics.secure }}
{{- if and $limited (not .Values.rbac.clusterRoles) }}
{{- fail "namespaces: whose tokens may read the metrics can be asked only with a ClusterRole. Set rbac.clusterRoles: true to give one or, to serve metrics by HTTP to everybody, metrics.secure: false" }}
{{- end }}
{{- range include "keyturn.rights.metrics" . | fromYamlArray }}{{ $wanted = append $wanted (dict "places" (list "*") "right" .) }}{{ end }}
{{- end }}
{{- if .Values.leaderElect }}
{{- range $name, $values := .Values.controllers }}
{{- if $values.enabled }}
{{- range include (printf "keyturn.rights.leases.%s" $name) $values | fromYamlArray }}{{ $wanted = append $wanted (dict "places" (list $own) "right" .) }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- /* An Event about an object that belongs to no namespace goes to the namespace default. */ -}}
{{- if $seesCluster }}
{{- range include "keyturn.rights.manager" . | fromYamlArray }}{{ $wanted = append $wanted (dict "places" (list "default") "right" .) }}{{ end }}
{{- end }}
{{- $rules := dict }}
{{- range $wanted }}
{{- $right := .right }}
{{- $resource := printf "%s %s %s" $right.group $right.resource ($right.names | default list | join ",") }}
{{- range .places }}
{{- $here := get $rules . | default dict }}
{{- $rule := get $here $resource | default (dict "apiGroups" (list $right.group) "resources" (list $right.resource) "verbs" list) }}
{{- if $right.names }}{{ $_ := set $rule "resourceNames" $right.names }}{{ end }}
{{- $_ := set $rule "verbs" (concat $rule.verbs $right.verbs | uniq) }}
{{- $_ := set $here $resource $rule }}
{{- $_ := set $rules . $here }}
{{- end }}
{{- end }}
{{- $wide := get $rules "*" | default dict }}
{{- range $place, $here := $rules }}
{{- $kept := dict }}
{{- range $resource, $rule := $here }}
{{- $verbs := $rule.verbs }}
{{- $unnamed := printf "%s %s " (index $rule.apiGroups 0) (index $rule.resources 0) }}
{{- if $rule.resourceNames }}{{ range (get $here $unnamed | default (dict "verbs" list)).verbs }}{{ $verbs = without $verbs . }}{{ end }}{{ end }}
{{- if ne $place "*" }}{{ range (get $wide $unnamed | default (dict "verbs" list)).verbs }}{{ $verbs = without $verbs . }}{{ end }}{{ end }}
{{- if $verbs }}{{ $_ := set $kept $resource (merge (dict "verbs" $verbs) $rule) }}{{ end }}
{{- end }}
{{- if $kept }}
{{ $place | quote }}:
{{- range keys $kept | sortAlpha }}
{{ list (get $kept .) | toYaml }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A Role or ClusterRole and its binding. Takes the root, a name, a namespace or "*", rules, and the ServiceAccount's name and namespace. */ -}}
{{- define "keyturn.role" -}}
{{- $scope := ternary "Cluster" "" (eq .place "*") }}
{{- $metadata := include "keyturn.metadata" (dict "root" .root "name" .name "namespace" (ternary "" .place (eq .place "*")) "component" .component) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $scope }}Role
{{ $metadata }}
rules:
  {{- toYaml .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $scope }}RoleBinding
{{ $metadata }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $scope }}Role
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .serviceAccount }}
    namespace: {{ .namespace }}
{{- end }}
