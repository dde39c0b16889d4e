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

{{/*
Annotations and labels of every object. Called with (list $ "api"), or with annotations of its own as well. What follows it
at the depth of a label is a label, too.
*/}}
{{- define "checklists.about" -}}
{{- $root := index . 0 -}}
{{- $own := dict -}}
{{- if gt (len .) 2 }}{{ $own = default dict (index . 2) }}{{ end -}}
{{- with merge (dict) $own $root.Values.commonAnnotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{ end -}}
labels:
  {{- include "checklists.labels" (list $root (index . 1)) | nindent 2 }}
{{- end -}}

{{/*
Whether no cluster can be asked (`helm template`, Argo CD): Helm then takes for granted all versions of APIs that it has
ever known, and no cluster that this chart runs on still has this one. What is made at random is new at each rendering.
*/}}
{{- define "checklists.withoutCluster" -}}
{{- if .Capabilities.APIVersions.Has "apiextensions.k8s.io/v1beta1" -}}true{{- end -}}
{{- end -}}

{{/* For what must outlive the release, or the rendering that it was in: no tool that prunes may take it. */}}
{{- define "checklists.keepAnnotations" -}}
helm.sh/resource-policy: keep
argocd.argoproj.io/sync-options: Prune=false,Delete=false
kustomize.toolkit.fluxcd.io/prune: disabled
{{- end -}}

{{- define "checklists.image" -}}
{{- if not .Values.image.repository }}{{ fail "image.repository is required: where you pushed the image that `make image` builds, with the name of its registry" }}{{ end -}}
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

{{/* Secrets that runs sign their webhooks with: a mapping of lists in YAML, by namespace. */}}
{{- define "checklists.webhookSecrets" -}}
{{- $secrets := dict .Release.Namespace .Values.webhookSecrets -}}
{{- range .Values.organizationNamespaces -}}
{{- $_ := set $secrets .name (concat (default list (get $secrets .name)) (default list .webhookSecrets) | uniq) -}}
{{- end -}}
{{- toYaml $secrets -}}
{{- end -}}

{{- define "checklists.redisUrl" -}}
{{- if .Values.redis.url -}}
{{- .Values.redis.url -}}
{{- else if .Values.redis.builtIn.enabled -}}
redis://{{ include "checklists.fullname" . }}-redis:6379/0
{{- end -}}
{{- end -}}

{{- define "checklists.redisPasswordSecret" -}}
{{- if .Values.redis.password.existingSecret -}}
{{- .Values.redis.password.existingSecret -}}
{{- else if .Values.redis.builtIn.enabled -}}
{{ include "checklists.fullname" . }}-redis
{{- end -}}
{{- end -}}

{{- define "checklists.redisPasswordKey" -}}
{{- ternary .Values.redis.password.key "password" (ne .Values.redis.password.existingSecret "") -}}
{{- end -}}

{{/* Names of your claims that API and operator mount both, one a line. */}}
{{- define "checklists.sharedClaims" -}}
{{- if eq .Values.photos.store "persistentVolume" }}{{ .Values.photos.persistentVolume.existingClaim }}{{ end }}
{{ .Values.archive.existingClaim }}
{{- end -}}

{{/* How claims of yours may be mounted, as far as the cluster can be asked: lists in YAML, by their names. */}}
{{- define "checklists.claimModes" -}}
{{- $modes := dict -}}
{{- range include "checklists.sharedClaims" . | splitList "\n" | compact -}}
{{- $claim := lookup "v1" "PersistentVolumeClaim" $.Release.Namespace . -}}
{{- with dig "spec" "accessModes" list $claim }}{{- $_ := set $modes $claim.metadata.name . -}}{{ end -}}
{{- end -}}
{{- toYaml $modes -}}
{{- end -}}

{{/* Whether all pods must be on one node, since they share a volume that only one node can mount. */}}
{{- define "checklists.oneNode" -}}
{{- $one := and (eq .Values.photos.store "persistentVolume") (eq .Values.photos.persistentVolume.accessMode "ReadWriteOnce") (not .Values.photos.persistentVolume.existingClaim) -}}
{{- range $modes := include "checklists.claimModes" . | fromYaml }}{{ if not (has "ReadWriteMany" $modes) }}{{ $one = true }}{{ end }}{{ end -}}
{{- if $one -}}true{{- end -}}
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

{{- define "checklists.archiveStore" -}}
{{- if .Values.archive.existingClaim -}}
file:///var/lib/checklists/archive
{{- else -}}
{{ .Values.archive.address }}
{{- end -}}
{{- end -}}

{{/* Where backups are put; empty: nowhere. */}}
{{- define "checklists.backupTarget" -}}
{{- if .Values.backup.existingClaim -}}
file:///var/lib/checklists/backups
{{- else -}}
{{ .Values.backup.address }}
{{- end -}}
{{- end -}}

{{/*
Whether an archive would be in a folder that goes with its pod: then nothing is archived, and runs stay in the cluster.
*/}}
{{- define "checklists.archiveWouldBeLost" -}}
{{- if and (eq .Values.photos.store "temporary") (not (include "checklists.archiveStore" .)) (not (hasKey .Values.settings "archiveStore")) (not (hasKey .Values.settings "photoStore")) -}}true{{- end -}}
{{- end -}}

{{/* Whether photos or archive are in S3, or elsewhere outside of the pods; empty when they are not. */}}
{{- define "checklists.inS3" -}}
{{- if or (eq .Values.photos.store "s3") (hasPrefix "s3://" .Values.archive.address) -}}true{{- end -}}
{{- end -}}

{{/* The same for what a component has to do with: backups, too, for those that make and read them. (list $ "backup") */}}
{{- define "checklists.needsS3" -}}
{{- $root := index . 0 -}}
{{- if or (include "checklists.inS3" $root) (and (has (index . 1) (list "backup" "maintenance")) (hasPrefix "s3://" (include "checklists.backupTarget" $root))) -}}true{{- end -}}
{{- end -}}

{{- define "checklists.remoteStore" -}}
{{- if or (has .Values.photos.store (list "s3" "url")) .Values.archive.address -}}true{{- end -}}
{{- end -}}

{{/* A setting's value as the environment has it: 1 and 0, whole numbers without a point. */}}
{{- define "checklists.settingText" -}}
{{- if kindIs "bool" . -}}
{{- ternary "1" "0" . -}}
{{- else if kindIs "slice" . -}}
{{- range $index, $part := . }}{{ if $index }},{{ end }}{{ include "checklists.settingText" $part }}{{ end -}}
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
The environment of a component: what the chart derives, then the settings, which go before it. A mapping in YAML, from
which the list of a container is made. Called with (list $ "api").
*/}}
{{- define "checklists.environment" -}}
{{- $component := index . 1 -}}
{{- with index . 0 -}}
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
{{- with .Values.internalReceivers }}{{- $_ := set $derived "CHECKLISTS_INTERNAL_RECEIVERS" (join "," .) -}}{{- end -}}
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
{{- with include "checklists.archiveStore" . }}{{- $_ := set $derived "CHECKLISTS_ARCHIVE_STORE" . -}}{{- end -}}
{{- if include "checklists.archiveWouldBeLost" . }}{{- $_ := set $derived "CHECKLISTS_ARCHIVE" "0" -}}{{- end -}}
{{- $root := . -}}
{{- with .Values.photos }}
{{- if include "checklists.needsS3" (list $root $component) }}
{{- with .s3.region }}{{- $_ := set $derived "AWS_REGION" . -}}{{- end -}}
{{- with .s3.endpoint }}{{- $_ := set $derived "AWS_ENDPOINT_URL" . -}}{{- end -}}
{{- if .s3.allowHttp }}{{- $_ := set $derived "AWS_ALLOW_HTTP" "true" -}}{{- end -}}
{{- if .s3.existingSecret }}
{{- $_ := set $derived "CHECKLISTS_S3_ACCESS_KEY_ID_FILE" "/etc/checklists/s3/access-key-id" -}}
{{- $_ := set $derived "CHECKLISTS_S3_SECRET_ACCESS_KEY_FILE" "/etc/checklists/s3/secret-access-key" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := .Values.settings }}
{{- $_ := set $derived (include "checklists.settingName" $name) (include "checklists.settingText" $value) -}}
{{- end -}}
{{- toYaml $derived -}}
{{- end -}}
{{- end -}}

{{- define "checklists.env" -}}
{{- range $name, $value := include "checklists.environment" . | fromYaml }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* What only the store's credentials are in. Called with (list $ "api"). */}}
{{- define "checklists.envFrom" -}}
{{- $root := index . 0 -}}
{{- $photos := $root.Values.photos -}}
{{- $secrets := list -}}
{{- $addresses := list $root.Values.archive.address -}}
{{- if has (index . 1) (list "backup" "maintenance") }}{{- $addresses = append $addresses $root.Values.backup.address -}}{{- end -}}
{{- if or (eq $photos.store "url") (regexMatch "(^| )(gs|az)://" (join " " $addresses)) }}{{- $secrets = append $secrets $photos.url.existingSecret -}}{{- end -}}
{{- range $secrets | compact | uniq }}
- secretRef:
    name: {{ . }}
{{- end }}
{{- end -}}

{{- define "checklists.podSecurity" -}}
{{- mergeOverwrite (include "checklists.ownPodSecurity" . | fromYaml) .Values.podSecurityContext | toYaml -}}
{{- end -}}

{{- define "checklists.ownPodSecurity" -}}
runAsNonRoot: true
{{- with .Values.runAsUser }}
runAsUser: {{ int64 . }}
runAsGroup: {{ int64 . }}
fsGroup: {{ int64 . }}
{{- end }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* What every pod has beside that. */}}
{{- define "checklists.podCommon" -}}
enableServiceLinks: false
{{- if not .Values.hostUsers }}
hostUsers: false
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "checklists.podSecurity" . | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "checklists.containerSecurity" -}}
{{- $own := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) -}}
{{- mergeOverwrite $own .Values.containerSecurityContext | toYaml -}}
{{- end -}}

{{/* Probes of API and operator, and what values change in them. Called with (list $ "api" "http"), the name of the port. */}}
{{- define "checklists.probes" -}}
{{- $probes := (index (index . 0).Values (index . 1)).probes -}}
{{- $alive := dict "httpGet" (dict "path" "/healthz" "port" (index . 2)) -}}
{{- $ready := dict "httpGet" (dict "path" "/readyz" "port" (index . 2)) "timeoutSeconds" 2 "failureThreshold" 3 -}}
startupProbe:
  {{- mergeOverwrite (deepCopy $alive) (dict "periodSeconds" 1 "failureThreshold" 60) $probes.startup | toYaml | nindent 2 }}
readinessProbe:
  {{- mergeOverwrite $ready (dict "periodSeconds" (ternary 2 5 (eq (index . 1) "api"))) $probes.readiness | toYaml | nindent 2 }}
livenessProbe:
  {{- mergeOverwrite $alive (dict "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 6) $probes.liveness | toYaml | nindent 2 }}
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
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
{{ include "checklists.podCommon" $root }}
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

{{/* What the pods that commands run in say: placement, identity, volumes. Called with (list $ "backup"). */}}
{{- define "checklists.commandPodSpec" -}}
{{- $root := index . 0 -}}
{{- $values := index $root.Values (index . 1) -}}
serviceAccountName: {{ include "checklists.serviceAccountName" . }}
automountServiceAccountToken: true
{{ include "checklists.podCommon" $root }}
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
volumes:
  {{- include "checklists.volumes" . | trim | nindent 2 }}
{{- end -}}

{{/* A container of such a pod, without its name and command. */}}
{{- define "checklists.commandContainer" -}}
{{- $root := index . 0 -}}
{{- $values := index $root.Values (index . 1) -}}
image: {{ include "checklists.image" $root }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
securityContext:
  {{- include "checklists.containerSecurity" $root | nindent 2 }}
env:
  {{- include "checklists.env" . | trim | nindent 2 }}
  {{- include "checklists.keysEnv" $root | nindent 2 }}
  {{- with $values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with include "checklists.envFrom" . }}
envFrom:
  {{- . | trim | nindent 2 }}
{{- end }}
resources:
  {{- toYaml $values.resources | nindent 2 }}
volumeMounts:
  {{- include "checklists.volumeMounts" . | trim | nindent 2 }}
{{- end -}}

{{- define "checklists.commandPodMetadata" -}}
{{- $values := index (index . 0).Values (index . 1) -}}
labels:
  {{- include "checklists.labels" . | nindent 2 }}
  checklists.dev/photos: shared
  {{- with $values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "checklists.volumes" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := index $root.Values $component -}}
- name: keys
  secret:
    secretName: {{ include "checklists.keysSecret" $root }}
    defaultMode: 0440
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
  emptyDir:
    sizeLimit: {{ $root.Values.photos.persistentVolume.size }}
{{- end }}
{{- with $root.Values.archive.existingClaim }}
- name: archive
  persistentVolumeClaim:
    claimName: {{ . }}
{{- end }}
{{- if and (include "checklists.needsS3" .) $root.Values.photos.s3.existingSecret }}
- name: s3
  secret:
    secretName: {{ $root.Values.photos.s3.existingSecret }}
    defaultMode: 0440
    items:
      - {key: AWS_ACCESS_KEY_ID, path: access-key-id}
      - {key: AWS_SECRET_ACCESS_KEY, path: secret-access-key}
{{- end }}
{{- if has $component (list "api" "maintenance") }}
{{- with include "checklists.redisPasswordSecret" $root }}
- name: redis
  secret:
    secretName: {{ . }}
    defaultMode: 0440
    items:
      - {key: {{ include "checklists.redisPasswordKey" $root }}, path: password}
{{- end }}
{{- end }}
{{- if eq $component "api" }}
{{- if and $root.Values.oidc.issuer $root.Values.oidc.clientSecret.existingSecret }}
- name: oidc
  secret:
    secretName: {{ $root.Values.oidc.clientSecret.existingSecret }}
    defaultMode: 0440
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
    defaultMode: 0440
    items:
      - {key: {{ $root.Values.model.key.key }}, path: key}
{{- end }}
{{- end }}
{{- if and (has $component (list "backup" "maintenance")) $root.Values.backup.existingClaim }}
- name: backups
  persistentVolumeClaim:
    claimName: {{ $root.Values.backup.existingClaim }}
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
- {name: photos, mountPath: /var/lib/checklists/photos{{ if eq $component "backup" }}, readOnly: true{{ end }}}
{{- end }}
{{- if $root.Values.archive.existingClaim }}
- {name: archive, mountPath: /var/lib/checklists/archive{{ if eq $component "backup" }}, readOnly: true{{ end }}}
{{- end }}
{{- if and (include "checklists.needsS3" .) $root.Values.photos.s3.existingSecret }}
- {name: s3, mountPath: /etc/checklists/s3, readOnly: true}
{{- end }}
{{- if and (has $component (list "api" "maintenance")) (include "checklists.redisPasswordSecret" $root) }}
- {name: redis, mountPath: /etc/checklists/redis, readOnly: true}
{{- end }}
{{- if eq $component "api" }}
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
{{- if and (has $component (list "backup" "maintenance")) $root.Values.backup.existingClaim }}
- {name: backups, mountPath: /var/lib/checklists/backups}
{{- end }}
{{- with $values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The keys of the installation are files, which API and operator read again when the Secret changes. */}}
{{- define "checklists.keysEnv" -}}
- {name: CHECKLISTS_SERVER_KEY_FILE, value: /etc/checklists/keys/server-key}
- {name: CHECKLISTS_SEALING_KEYS_FILE, value: /etc/checklists/keys/sealing-keys}
{{- end -}}

{{/* What is published: nothing else is (metrics, health). A test compares it with the routes of the API. */}}
{{- define "checklists.publicPaths" -}}
- /
- /v1
- /r
- /dashboard
- /docs
- /pages
- /.well-known
{{- end -}}

{{- define "checklists.networkDns" -}}
# Names.
- ports:
    - {protocol: UDP, port: 53}
    - {protocol: TCP, port: 53}
  to:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}
    - ipBlock: {cidr: 169.254.20.10/32}
{{- end -}}
{{/* The port of a URL. Called with (list URL "443"), what it is when the URL says none. */}}
{{- define "checklists.portOf" -}}
{{- regexFind ":[0-9]+$" (urlParse (index . 0)).host | trimPrefix ":" | default (index . 1) -}}
{{- end -}}

{{/* Called with (list $ "api"). */}}
{{- define "checklists.storePort" -}}
{{- $endpoint := (index . 0).Values.photos.s3.endpoint -}}
{{- if and (include "checklists.needsS3" .) $endpoint -}}
{{- include "checklists.portOf" (list $endpoint (ternary "80" "443" (hasPrefix "http://" $endpoint))) -}}
{{- else -}}
443
{{- end -}}
{{- end -}}

{{/* Outside of the cluster, at one port. Called with (list $ "443"). */}}
{{- define "checklists.networkOutsideAt" -}}
{{- $port := index . 1 -}}
{{- range include "checklists.networkOutside" (index . 0) | fromYamlArray }}
- ports:
    - {protocol: TCP, port: {{ $port }}}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "checklists.networkOutside" -}}
# Everything but the cluster's own ranges.
- to:
    {{- $four := list }}{{ $six := list }}
    {{- range .Values.clusterRanges }}
    {{- if contains ":" . }}{{ $six = append $six . }}{{ else }}{{ $four = append $four . }}{{ end }}
    {{- end }}
    - ipBlock:
        cidr: 0.0.0.0/0
        {{- with $four }}
        except: {{ toJson . }}
        {{- end }}
    - ipBlock:
        cidr: ::/0
        {{- with $six }}
        except: {{ toJson . }}
        {{- end }}
{{- end -}}
