#!/bin/sh
# A human step with kubectl alone: creates a run, sends its link, waits for its end, prints one answer as JSON.
#
#   TEMPLATE=restaurant-opening STEP=s-fridge-1 NOTIFY_URL=https://chat.example/hook sh human-step.sh
#
# Exit status: 0 completed, 3 cancelled, 4 expired, 5 still open after TIMEOUT, 1 anything else.
set -eu

run=$(kubectl create -f - -o name <<YAML
apiVersion: checklists.dev/v1
kind: Run
metadata: {generateName: human-step-}
spec:
  templateRef: {name: "$TEMPLATE"}
  executorRef: "${REFERENCE:-shell}"
  expiresInHours: ${EXPIRES_HOURS:-4}
  linkSecretRef: {} # a Secret with the name of the run
YAML
)
echo "created $run" >&2

# The link is sent through a pipe: as an argument, other users of the machine could read it.
kubectl wait --for=condition=LinkReady "$run" --timeout=60s >&2
kubectl get "secret/${run#*/}" -o jsonpath='{.data.link}' | base64 -d |
  jq -R '{text: "Please answer: \(.)"}' |
  curl -fsS -H 'Content-Type: application/json' --data-binary @- "$NOTIFY_URL" >&2

kubectl wait --for=condition=Ended "$run" --timeout="${TIMEOUT:-4h}" >&2 || true
case $(kubectl get "$run" -o jsonpath='{.status.phase}') in
  Completed) kubectl get "$run" -o jsonpath="{.status.answers.$STEP.value}" ;;
  Cancelled) exit 3 ;;
  Expired) exit 4 ;;
  *) exit 5 ;;
esac
