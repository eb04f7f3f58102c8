{{- /* Which controllers were chosen, and the arguments that follow from the values. */ -}}

{{- /* The names of the chosen controllers as the command line knows them, as a YAML list. */ -}}
{{- define "keyturn.chosen" -}}
{{- range $name, $values := .Values.controllers }}
{{- if $values.enabled }}
- {{ kebabcase $name }}
{{- end }}
{{- end }}
{{- end }}

{{- /*
The processes of the operator, as a YAML list: for each the controllers that it runs, and with `split` its name. A template that is rendered for a
process gets the root with only its controllers enabled, and its name as Process: see keyturn.eachProcess.
*/ -}}
{{- define "keyturn.processes" -}}
{{- $chosen := include "keyturn.chosen" . | fromYamlArray }}
{{- if .Values.split }}
{{- /* Those that restart workloads are one: the budget is one, and a workload is restarted once for both. */ -}}
{{- $restarting := list }}
{{- range .Files.Get "files/restarting.yaml" | fromYamlArray }}{{ if has .name $chosen }}{{ $restarting = append $restarting .name }}{{ end }}{{ end }}
{{- range $chosen }}
{{- if not (has . $restarting) }}
- {name: {{ . }}, controllers: [{{ . }}]}
{{- else if eq . (first $restarting) }}
- {name: {{ . }}, controllers: {{ toJson $restarting }}}
{{- end }}
{{- end }}
{{- else if $chosen }}
- {name: "", controllers: {{ toJson $chosen }}}
{{- end }}
{{- end }}

{{- /* A named template for each process. Takes the root and the template's name. */ -}}
{{- define "keyturn.eachProcess" -}}
{{- $root := .root }}
{{- $template := .template }}
{{- range include "keyturn.processes" $root | fromYamlArray }}
{{- $process := . }}
{{- $controllers := dict }}
{{- range $name, $values := $root.Values.controllers }}
{{- $own := set (omit $values "enabled") "enabled" (has (kebabcase $name) $process.controllers) }}
{{- /* Labels of namespaces can be seen in the whole cluster alone: one that is limited publishes in all of its namespaces. */ -}}
{{- if and (eq $name "checksum") $root.Values.namespaces (not $values.namespaces) (eq $values.scope "namespace") (eq $values.namespaceSelector "keyturn.io/checksum=enabled") }}
{{- $_ := set $own "namespaces" $root.Values.namespaces }}
{{- end }}
{{- $_ := set $controllers $name $own }}
{{- end }}
{{- $values := merge (dict "controllers" $controllers) (omit $root.Values "controllers") }}
---
{{ include $template (dict "Values" $values "Process" $process.name "Chart" $root.Chart "Release" $root.Release "Files" $root.Files "Capabilities" $root.Capabilities) }}
{{- end }}
{{- end }}

{{- /* Stops an installation that would do nothing. */ -}}
{{- define "keyturn.check" -}}
{{- if not (or (include "keyturn.chosen" .) .Values.agent.enabled) }}
{{- fail (printf "nothing to install: switch on at least one of controllers.%s (enabled: true), or agent.enabled" (keys .Values.controllers | sortAlpha | join ", controllers.")) }}
{{- end }}
{{- if and .Values.trustedCertificates.configMap .Values.trustedCertificates.secret }}
{{- fail "trustedCertificates: name a configMap or a secret, not both" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled .Values.metrics.podMonitor.enabled }}
{{- fail "metrics: switch on serviceMonitor or podMonitor, not both, or every pod is scraped twice" }}
{{- end }}
{{- if and .Values.metrics.enabled .Values.metrics.secure .Values.metrics.podMonitor.enabled (not .Values.metrics.podMonitor.authorization) (include "keyturn.chosen" .) }}
{{- fail "metrics.podMonitor: a PodMonitor cannot use Prometheus' own token. Name a Secret with a token by metrics.podMonitor.authorization, use metrics.serviceMonitor, or set metrics.secure: false" }}
{{- end }}
{{- if and .Values.dashboard.enabled (not (include "keyturn.chosen" .)) }}
{{- fail "dashboard.enabled: the page is served by the operator, and no controller is switched on" }}
{{- end }}
{{- if and .Values.dashboard.enabled .Values.split }}
{{- fail "dashboard.enabled: the page is served by a process that runs all controllers; with split, look with `kubectl keyturn dashboard`" }}
{{- end }}
{{- if and .Values.split (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) }}
{{- fail "split: name the existing ServiceAccounts by serviceAccount.name, to which a dash and each controller's name are added" }}
{{- end }}
{{- end }}

{{- /* The arguments that the values of some flags come to, as a YAML list. Takes the root and whose flags: operator, agent, or a name under controllers. */ -}}
{{- define "keyturn.flags" -}}
{{- $of := .of }}
{{- $root := .root }}
{{- range $root.Files.Get "files/flags.yaml" | fromYamlArray }}
{{- if eq .of $of }}
{{- $value := $root.Values }}
{{- range splitList "." .path }}{{ $value = index $value . }}{{ end }}
{{- $text := toString $value }}
{{- if eq .takes "list" }}{{ $text = join "," $value }}{{ end }}
{{- if eq .takes "number" }}{{ $text = toString (int64 $value) }}{{ end }}
{{- if ne $text .default }}
- {{ printf "--%s=%s" .flag $text | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The arguments of the operator, as a YAML list. */ -}}
{{- define "keyturn.arguments" -}}
- run
- {{ printf "--controllers=%s" (include "keyturn.chosen" . | fromYamlArray | join ",") }}
- {{ printf "--metrics-bind-address=%s" (ternary (printf ":%v" .Values.metrics.port) "0" .Values.metrics.enabled) | quote }}
{{- if and .Values.metrics.enabled (not .Values.metrics.secure) }}
- "--metrics-secure=false"
{{- else if and .Values.metrics.enabled .Values.metrics.certificateSecret }}
- "--metrics-cert-path=/etc/keyturn/metrics-certificate"
{{- end }}
- {{ printf "--health-probe-bind-address=:%v" .Values.health.port | quote }}
{{- if .Values.dashboard.enabled }}
- {{ printf "--dashboard-bind-address=:%v" .Values.dashboard.port | quote }}
{{- end }}
{{- include "keyturn.flags" (dict "root" . "of" "operator") }}
{{- range $name, $values := .Values.controllers }}
{{- if $values.enabled }}
{{- include "keyturn.flags" (dict "root" $ "of" $name) }}
{{- end }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- /* The arguments of the agent, as a YAML list. */ -}}
{{- define "keyturn.agentArguments" -}}
- agent
- {{ printf "--namespace=%s" (include "keyturn.agentNamespace" .) | quote }}
- {{ printf "--dir=%s/agent" (trimSuffix "/" .Values.agent.mountPath) | quote }}
- {{ printf "--bind-address=:%v" .Values.agent.port | quote }}
{{- include "keyturn.flags" (dict "root" . "of" "agent") }}
{{- range .Values.agent.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}
