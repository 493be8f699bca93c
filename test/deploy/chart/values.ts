import type { Values } from './render.ts'

/** What must be given. */
export const BUCKET: Values = {
  publicUrl: 'https://perennial.example.org',
  existingSecret: 'perennial',
  env: { S3_BUCKET: 'exports', S3_REGION: 'eu-central-1' },
}
/** Everything that can be switched on. */
export const ALL: Values = {
  ...{ publicUrl: 'https://perennial.example.org', existingSecret: 'perennial', imagePullSecrets: [{ name: 'registry' }] },
  secretKeys: ['APP_SECRET', 'DATABASE_URL', 'BOOTSTRAP_SECRET_KEY'],
  files: { existingClaim: 'perennial-files' },
  api: { autoscaling: { enabled: true } },
  worker: { autoscaling: { enabled: true, overdue: { enabled: true } } },
  ingress: {
    enabled: true,
    className: 'nginx',
    host: 'perennial.example.org',
    tlsSecret: 'perennial-tls',
    annotations: { 'example.org/a': 'b' },
  },
  networkPolicy: { apiFrom: [{ namespaceSelector: {} }], metricsFrom: [{ podSelector: { matchLabels: { app: 'prometheus' } } }] },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  nodeSelector: { 'kubernetes.io/arch': 'amd64' },
  tolerations: [{ key: 'a', operator: 'Exists' }],
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
}
