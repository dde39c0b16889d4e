{{/* Names: `<release>-checklist-dispatch`, or the release's name when that says it already. Room is left for suffixes. */}}
{{- define "checklists.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "checklists.fullname" -}}
{{- $name := include "checklists.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that select pods: they never change. Called with (list $ "api"). */}}
{{- define "checklists.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "checklists.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Labels of every object. Called with (list $ "api"). */}}
{{- define "checklists.labels" -}}
{{- $root := index . 0 -}}
{{ include "checklists.selectorLabels" . }}
app.kubernetes.io/part-of: checklist-dispatch
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "checklists.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{- if .Values.image.digest -}}
{{- printf "%s:%s@%s" .Values.image.repository $tag .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository $tag -}}
{{- end -}}
{{- end -}}

{{/* Called with (list $ "api"), or "operator". */}}
{{- define "checklists.serviceAccountName" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $account := (index $root.Values $component).serviceAccount -}}
{{- if $account.name -}}
{{- $account.name -}}
{{- else if $account.create -}}
{{- include "checklists.fullname" $root }}-{{ $component -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{- define "checklists.keysSecret" -}}
{{- default (printf "%s-keys" (include "checklists.fullname" .)) .Values.secrets.existingSecret -}}
{{- end -}}

{{- define "checklists.photosClaim" -}}
{{- default (printf "%s-photos" (include "checklists.fullname" .)) .Values.photos.persistentVolume.existingClaim -}}
{{- end -}}

{{- define "checklists.hasTls" -}}
{{- if or .Values.tls.existingSecret .Values.tls.certManager.issuer -}}true{{- end -}}
{{- end -}}

{{- define "checklists.tlsSecret" -}}
{{- default (printf "%s-tls" (include "checklists.fullname" .)) .Values.tls.existingSecret -}}
{{- end -}}

{{- define "checklists.baseUrl" -}}
{{- if .Values.baseUrl -}}
{{- .Values.baseUrl | trimSuffix "/" -}}
{{- else if .Values.host -}}
{{- printf "%s://%s" (ternary "https" "http" (eq (include "checklists.hasTls" .) "true")) .Values.host -}}
{{- else -}}
http://127.0.0.1:8080
{{- end -}}
{{- end -}}

{{/* All namespaces that organizations may be in, the release's own first; one a line. */}}
{{- define "checklists.namespaces" -}}
{{- $names := list .Release.Namespace -}}
{{- range .Values.organizationNamespaces -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- $names | uniq | join "," -}}
{{- end -}}

{{- define "checklists.redisUrl" -}}
{{- if .Values.redis.url -}}
{{- .Values.redis.url -}}
{{- else if .Values.redis.builtIn.enabled -}}
redis://{{ include "checklists.fullname" . }}-redis:6379/0
{{- end -}}
{{- end -}}

{{- define "checklists.redisPasswordSecret" -}}
{{- if .Values.redis.builtIn.enabled -}}
{{ include "checklists.fullname" . }}-redis
{{- else -}}
{{- .Values.redis.password.existingSecret -}}
{{- end -}}
{{- end -}}

{{/* Whether all pods must be on one node, since they share a volume that only one node can mount. */}}
{{- define "checklists.oneNode" -}}
{{- if and (eq .Values.photos.store "persistentVolume") (eq .Values.photos.persistentVolume.accessMode "ReadWriteOnce") (not .Values.photos.persistentVolume.existingClaim) -}}true{{- end -}}
{{- end -}}

{{- define "checklists.photoStore" -}}
{{- $photos := .Values.photos -}}
{{- if eq $photos.store "s3" -}}
s3://{{ $photos.s3.bucket }}{{ with $photos.s3.prefix }}/{{ . | trimAll "/" }}{{ end }}
{{- else if eq $photos.store "url" -}}
{{ $photos.url.address }}
{{- else -}}
file:///var/lib/checklists/photos
{{- end -}}
{{- end -}}

{{/* A setting's value as the environment has it: 1 and 0, whole numbers without a point. */}}
{{- define "checklists.settingText" -}}
{{- if kindIs "bool" . -}}
{{- ternary "1" "0" . -}}
{{- else if kindIs "float64" . -}}
{{- if eq (float64 (int64 .)) . -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{/* CHECKLISTS_RATE_LIMIT of rateLimit. */}}
{{- define "checklists.settingName" -}}
CHECKLISTS_{{ regexReplaceAll "([A-Z])" . "_${1}" | upper }}
{{- end -}}

{{/*
The environment of API, operator and CLI: what the chart derives, then the settings, which go before it. A mapping in
YAML, from which the list of a container is made.
*/}}
{{- define "checklists.environment" -}}
{{- $derived := dict -}}
{{- $_ := set $derived "CHECKLISTS_NAMESPACE" .Release.Namespace -}}
{{- $_ := set $derived "CHECKLISTS_WATCH_NAMESPACES" (include "checklists.namespaces" .) -}}
{{- $_ := set $derived "CHECKLISTS_BASE_URL" (include "checklists.baseUrl" .) -}}
{{- $_ := set $derived "CHECKLISTS_HOST" "0.0.0.0" -}}
{{- $_ := set $derived "CHECKLISTS_PORT" "8080" -}}
{{- $_ := set $derived "CHECKLISTS_OPERATOR_PORT" "8081" -}}
{{- $_ := set $derived "CHECKLISTS_UPLOAD_FOLDER" "/var/lib/checklists/uploads" -}}
{{- $_ := set $derived "CHECKLISTS_PHOTO_STORE" (include "checklists.photoStore" .) -}}
{{- with .Values.clusterRanges }}{{- $_ := set $derived "CHECKLISTS_DENIED_ADDRESSES" (join "," .) -}}{{- end -}}
{{- if or .Values.ingress.enabled .Values.gateway.enabled }}{{- $_ := set $derived "CHECKLISTS_TRUSTED_PROXIES" "1" -}}{{- end -}}
{{- with include "checklists.redisUrl" . }}{{- $_ := set $derived "CHECKLISTS_REDIS_URL" . -}}{{- end -}}
{{- if include "checklists.redisPasswordSecret" . }}{{- $_ := set $derived "CHECKLISTS_REDIS_PASSWORD_FILE" "/etc/checklists/redis/password" -}}{{- end -}}
{{- with .Values.oidc }}
{{- if .issuer }}
{{- $_ := set $derived "CHECKLISTS_OIDC_ISSUER" .issuer -}}
{{- $_ := set $derived "CHECKLISTS_OIDC_CLIENT_ID" .clientId -}}
{{- if .clientSecret.existingSecret }}{{- $_ := set $derived "CHECKLISTS_OIDC_CLIENT_SECRET_FILE" "/etc/checklists/oidc/client-secret" -}}{{- end -}}
{{- if .caConfigMap }}{{- $_ := set $derived "CHECKLISTS_OIDC_CA_FILE" "/etc/checklists/oidc-ca/ca.crt" -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.model }}
{{- if .url }}
{{- $_ := set $derived "CHECKLISTS_MODEL_URL" .url -}}
{{- $_ := set $derived "CHECKLISTS_MODEL_NAME" .name -}}
{{- if .key.existingSecret }}{{- $_ := set $derived "CHECKLISTS_MODEL_KEY_FILE" "/etc/checklists/model/key" -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.photos }}
{{- if eq .store "s3" }}
{{- with .s3.region }}{{- $_ := set $derived "AWS_REGION" . -}}{{- end -}}
{{- with .s3.endpoint }}{{- $_ := set $derived "AWS_ENDPOINT_URL" . -}}{{- end -}}
{{- if .s3.allowHttp }}{{- $_ := set $derived "AWS_ALLOW_HTTP" "true" -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := .Values.settings }}
{{- $_ := set $derived (include "checklists.settingName" $name) (include "checklists.settingText" $value) -}}
{{- end -}}
{{- toYaml $derived -}}
{{- end -}}

{{- define "checklists.env" -}}
{{- range $name, $value := include "checklists.environment" . | fromYaml }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* What only the store's credentials are in. */}}
{{- define "checklists.envFrom" -}}
{{- $photos := .Values.photos -}}
{{- $secret := "" -}}
{{- if eq $photos.store "s3" }}{{- $secret = $photos.s3.existingSecret -}}{{- end -}}
{{- if eq $photos.store "url" }}{{- $secret = $photos.url.existingSecret -}}{{- end -}}
{{- with $secret }}
- secretRef:
    name: {{ . }}
{{- end }}
{{- end -}}

{{- define "checklists.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "checklists.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Affinity of a component: its own, and the one node that a ReadWriteOnce volume asks for. */}}
{{- define "checklists.affinity" -}}
{{- $root := index . 0 -}}
{{- $affinity := deepCopy (index $root.Values (index . 1)).affinity -}}
{{- if include "checklists.oneNode" $root -}}
{{- $together := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" (dict "app.kubernetes.io/name" (include "checklists.name" $root) "app.kubernetes.io/instance" $root.Release.Name "checklists.dev/photos" "shared")) -}}
{{- $pod := default dict $affinity.podAffinity -}}
{{- $terms := append (default list $pod.requiredDuringSchedulingIgnoredDuringExecution) $together -}}
{{- $_ := set $affinity "podAffinity" (set $pod "requiredDuringSchedulingIgnoredDuringExecution" $terms) -}}
{{- end -}}
{{- with $affinity }}{{ toYaml . }}{{- end -}}
{{- end -}}

{{- define "checklists.topologySpread" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $labels := include "checklists.selectorLabels" . | fromYaml -}}
{{- $given := (index $root.Values $component).topologySpreadConstraints -}}
{{- if and (not $given) (not (include "checklists.oneNode" $root)) -}}
{{- $given = list (dict "maxSkew" 1 "topologyKey" "topology.kubernetes.io/zone" "whenUnsatisfiable" "ScheduleAnyway") (dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway") -}}
{{- end -}}
{{- range $given }}
- {{ toYaml (merge (dict) . (dict "labelSelector" (dict "matchLabels" $labels) "matchLabelKeys" (list "pod-template-hash"))) | nindent 2 | trim }}
{{- end -}}
{{- end -}}

{{/* What both Deployments say of their pods: placement, identity, volumes. Called with (list $ "api"). */}}
{{- define "checklists.podSpec" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := index $root.Values $component -}}
serviceAccountName: {{ include "checklists.serviceAccountName" . }}
automountServiceAccountToken: true
enableServiceLinks: false
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
securityContext:
  {{- include "checklists.podSecurity" $root | nindent 2 }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "checklists.affinity" . }}
affinity:
  {{- . | nindent 2 }}
{{- end }}
{{- with include "checklists.topologySpread" . }}
topologySpreadConstraints:
  {{- . | trim | nindent 2 }}
{{- end }}
volumes:
  {{- include "checklists.volumes" . | trim | nindent 2 }}
{{- end -}}

{{- define "checklists.volumes" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := index $root.Values $component -}}
- name: keys
  secret:
    secretName: {{ include "checklists.keysSecret" $root }}
    items:
      - {key: server-key, path: server-key}
      - {key: sealing-keys, path: sealing-keys}
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
{{- if eq $component "api" }}
- name: uploads
  emptyDir:
    sizeLimit: {{ $root.Values.photos.uploadSpace }}
{{- end }}
{{- if eq $root.Values.photos.store "persistentVolume" }}
- name: photos
  persistentVolumeClaim:
    claimName: {{ include "checklists.photosClaim" $root }}
{{- else if eq $root.Values.photos.store "temporary" }}
- name: photos
  emptyDir: {}
{{- end }}
{{- if eq $component "api" }}
{{- with include "checklists.redisPasswordSecret" $root }}
- name: redis
  secret:
    secretName: {{ . }}
    items:
      - {key: {{ ternary "password" $root.Values.redis.password.key $root.Values.redis.builtIn.enabled }}, path: password}
{{- end }}
{{- if and $root.Values.oidc.issuer $root.Values.oidc.clientSecret.existingSecret }}
- name: oidc
  secret:
    secretName: {{ $root.Values.oidc.clientSecret.existingSecret }}
    items:
      - {key: {{ $root.Values.oidc.clientSecret.key }}, path: client-secret}
{{- end }}
{{- if and $root.Values.oidc.issuer $root.Values.oidc.caConfigMap }}
- name: oidc-ca
  configMap:
    name: {{ $root.Values.oidc.caConfigMap }}
    items:
      - {key: ca.crt, path: ca.crt}
{{- end }}
{{- if and $root.Values.model.url $root.Values.model.key.existingSecret }}
- name: model
  secret:
    secretName: {{ $root.Values.model.key.existingSecret }}
    items:
      - {key: {{ $root.Values.model.key.key }}, path: key}
{{- end }}
{{- end }}
{{- with $values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "checklists.volumeMounts" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := index $root.Values $component -}}
- {name: keys, mountPath: /etc/checklists/keys, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if eq $component "api" }}
- {name: uploads, mountPath: /var/lib/checklists/uploads}
{{- end }}
{{- if has $root.Values.photos.store (list "persistentVolume" "temporary") }}
- {name: photos, mountPath: /var/lib/checklists/photos}
{{- end }}
{{- if eq $component "api" }}
{{- if include "checklists.redisPasswordSecret" $root }}
- {name: redis, mountPath: /etc/checklists/redis, readOnly: true}
{{- end }}
{{- if and $root.Values.oidc.issuer $root.Values.oidc.clientSecret.existingSecret }}
- {name: oidc, mountPath: /etc/checklists/oidc, readOnly: true}
{{- end }}
{{- if and $root.Values.oidc.issuer $root.Values.oidc.caConfigMap }}
- {name: oidc-ca, mountPath: /etc/checklists/oidc-ca, readOnly: true}
{{- end }}
{{- if and $root.Values.model.url $root.Values.model.key.existingSecret }}
- {name: model, mountPath: /etc/checklists/model, readOnly: true}
{{- end }}
{{- end }}
{{- with $values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The keys of the installation, as API and operator are told where they are. */}}
{{- define "checklists.keysEnv" -}}
- name: CHECKLISTS_SERVER_KEY
  valueFrom:
    secretKeyRef: {name: {{ include "checklists.keysSecret" . }}, key: server-key}
- name: CHECKLISTS_SEALING_KEYS
  valueFrom:
    secretKeyRef: {name: {{ include "checklists.keysSecret" . }}, key: sealing-keys}
{{- end -}}
