import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Ajv from 'ajv'
import { expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { faultsOf } from './chart/kubernetes.ts'
import { chartIn, laidOver, type Values } from './chart/render.ts'
import { ALL, BUCKET } from './chart/values.ts'
import { configOf } from './settings.ts'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'deploy/helm/perennial')
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
const chart = chartIn(FOLDER)

// biome-ignore lint/suspicious/noExplicitAny: resources of every kind; the schemas of Kubernetes describe them
type Resource = any

const [few, all] = [BUCKET, ALL].map(values => chart.documents(values) as Resource[])
const named = (resources: Resource[]) => resources.map(({ kind, metadata }) => `${kind}/${metadata.name}`)
const pods = (resources: Resource[]) =>
  resources.filter(({ kind }) => /^(Deployment|Job)$/.test(kind)).map(({ spec }) => spec.template.spec)

test('the chart makes what it says, and no more', () => {
  expect(named(few!)).toEqual([
    'Deployment/perennial-api',
    'PodDisruptionBudget/perennial-api',
    'PodDisruptionBudget/perennial-worker',
    'Job/perennial-migrate',
    'NetworkPolicy/perennial',
    'Service/perennial-api',
    'Service/perennial-metrics',
    'Deployment/perennial-worker',
  ])
  const rules = existsSync(join(FOLDER, 'files/rules.yaml')) ? ['PrometheusRule/perennial'] : []
  expect(
    named(all!)
      .filter(name => !named(few!).includes(name))
      .sort(),
  ).toEqual([
    'HorizontalPodAutoscaler/perennial-api',
    'HorizontalPodAutoscaler/perennial-worker',
    'Ingress/perennial',
    ...rules,
    'ServiceMonitor/perennial',
  ])
})

test('every resource is one by the types of Kubernetes and of the Prometheus operator', async () => {
  expect(await faultsOf([...few!, ...all!])).toEqual([])
  // It finds a mistake, whatever its depth.
  const wrong = structuredClone([...few!, ...all!])
  for (const { kind, spec } of wrong) {
    if (kind === 'Deployment') spec.template.spec.containers[0].readinessProbe.httpGett = {}
    if (kind === 'ServiceMonitor') spec.endpoints[0].intervall = '1s'
  }
  const faults = (await faultsOf(wrong)).join()
  for (const field of ['httpGett', 'intervall']) expect(faults).toContain(field)
}, 60_000)

test('pods have no right that the service does not need', () => {
  for (const pod of [...pods(few!), ...pods(all!)]) {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: 'RuntimeDefault' } },
    })
    for (const { securityContext } of pod.containers)
      expect(securityContext).toEqual({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
  }
})

test('the service understands the environment of each pod, and finds in it the secrets as files', () => {
  for (const pod of [...pods(few!), ...pods(all!)])
    for (const { name, env, volumeMounts } of pod.containers) {
      const given = Object.fromEntries(env.map((one: Resource) => [one.name, one.value]))
      const config = configOf(given)
      expect(config.role).toBe(name === 'migrate' ? 'all' : name)
      expect(config).toMatchObject({ dataDir: '/data/perennial', publicUrl: 'https://perennial.example.org', trustedProxies: 1 })
      const mount = volumeMounts.find((one: Resource) => one.name === 'secrets')
      const volume = pod.volumes.find((one: Resource) => one.name === 'secrets')
      const files = volume.secret.items.map(({ path }: Resource) => `${mount.mountPath}/${path}`)
      expect(files).toEqual(Object.entries(given).flatMap(([variable, path]) => (variable.endsWith('_FILE') ? [path] : [])))
    }
})

test('what selects pods finds those of its own role, and a number of pods is not set twice', () => {
  for (const resources of [few!, all!])
    for (const { kind, metadata, spec } of resources) {
      if (kind === 'Deployment') {
        expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels)
        const isScaled = named(resources).includes(`HorizontalPodAutoscaler/${metadata.name}`)
        expect(spec.replicas).toBe(isScaled ? undefined : 2)
      }
      const selected = kind === 'PodDisruptionBudget' ? spec.selector.matchLabels : kind === 'Service' ? spec.selector : undefined
      if (selected && metadata.name !== 'perennial-metrics')
        expect(
          resources.filter(
            one =>
              one.kind === 'Deployment' &&
              Object.entries(selected).every(([label, value]) => one.spec.template.metadata.labels[label] === value),
          ),
        ).toHaveLength(1)
    }
})

test('values that make no sense are refused by the schema, and the command of the guide is accepted', () => {
  const ajv = new Ajv.default({ allErrors: true, strict: false })
  const isValid = ajv.compile(JSON.parse(read('values.schema.json')))
  const accepts = (values: Values) => isValid(laidOver(chart.values, values))
  expect([accepts(BUCKET), isValid.errors]).toEqual([true, null])
  expect([accepts(ALL), isValid.errors]).toEqual([true, null])
  for (const wrong of [
    {},
    { ...BUCKET, env: {} },
    { ...BUCKET, publicUrl: 'perennial.example.org' },
    { ...BUCKET, existingSecret: '' },
    { ...BUCKET, secretKeys: ['APP_SECRET'] },
    { ...BUCKET, secretKeys: ['APP_SECRET', 'DATABASE_URL', 'REDIS_USERNAME'] },
    { ...BUCKET, env: { S3_BUCKET: 'exports', ROLE: 'all' } },
    { ...BUCKET, env: { S3_BUCKET: 'exports', LEASE_SECONDS: 30 } },
    { ...BUCKET, api: { replicas: 0 } },
    { ...BUCKET, ingress: { enabled: true } },
    { ...BUCKET, replicas: 3 },
  ])
    expect(accepts(wrong), JSON.stringify(wrong)).toBe(false)
})

test('the notes name what is there, and the version is that of the package', () => {
  expect(chart.text('NOTES.txt', BUCKET)).toContain('deploy/perennial-api -- /app/bin/node /app/start.mjs cli operator create')
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  expect(parseYaml(read('Chart.yaml'))).toMatchObject({ version, appVersion: version })
})

test('the rules of alerts in the chart are those of deploy/prometheus', () => {
  const [ours, theirs] = [join(FOLDER, 'files/rules.yaml'), join(ROOT, 'deploy/prometheus/rules.yaml')]
  expect(existsSync(ours)).toBe(existsSync(theirs))
  if (existsSync(theirs)) expect(readFileSync(ours, 'utf8')).toBe(readFileSync(theirs, 'utf8'))
})
