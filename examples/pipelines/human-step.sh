#!/bin/sh
# A human step with kubectl alone: creates a run, sends its link, waits for its end, prints one answer as JSON.
#
#   TEMPLATE=restaurant-opening STEP=s-fridge-temp NOTIFY_URL=https://chat.example/hook sh human-step.sh
#
# Exit status: 0 completed, 3 cancelled, 4 expired, 5 still open after TIMEOUT, 1 anything else.
set -eu

run=r-$(cat /proc/sys/kernel/random/uuid) # the name of a run must be a new id

kubectl create -f - >&2 <<YAML
apiVersion: checklists.dev/v1
kind: Run
metadata: {name: "$run"}
spec:
  templateRef: {name: "$TEMPLATE"}
  executorRef: "${REFERENCE:-shell}"
  expiresInHours: ${EXPIRES_HOURS:-4}
  linkSecretRef: {name: "$run-link"}
YAML

# The link is sent through a pipe: as an argument, other users of the machine could read it.
kubectl wait --for=condition=LinkReady "run/$run" --timeout=60s >&2
kubectl get secret "$run-link" -o jsonpath='{.data.link}' | base64 -d |
  jq -R '{text: "Please answer: \(.)"}' |
  curl -fsS -H 'Content-Type: application/json' --data-binary @- "$NOTIFY_URL" >&2

kubectl wait --for=condition=Ended "run/$run" --timeout="${TIMEOUT:-4h}" >&2 || true
case $(kubectl get run "$run" -o jsonpath='{.status.phase}') in
  Completed) kubectl get run "$run" -o jsonpath="{.status.answers.$STEP.value}" ;;
  Cancelled) exit 3 ;;
  Expired) exit 4 ;;
  *) exit 5 ;;
esac
