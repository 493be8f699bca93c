// The variables of traces.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../app/config.ts'
import { SECRETS } from '../../app/secret-files.ts'

const AT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

describe('traces', () => {
  test('are sent only where there is an endpoint', () => {
    expect(readConfig({}).traces).toBeUndefined()
    expect(readConfig({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'nonsense' }).traces).toBeUndefined()
    expect(readConfig(AT).traces).toEqual({ serviceName: 'perennial', attributes: {}, headers: {} })
    expect(readConfig({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/v1/traces' }).traces).toBeDefined()
  })

  test('are turned off by the usual variables', () => {
    expect(readConfig({ ...AT, OTEL_SDK_DISABLED: 'true' }).traces).toBeUndefined()
    expect(readConfig({ ...AT, OTEL_TRACES_EXPORTER: 'none' }).traces).toBeUndefined()
  })

  test('have the name of the service and the attributes that are given', () => {
    const attributes = 'deployment.environment.name=a%20b, team=core'
    expect(readConfig({ ...AT, OTEL_SERVICE_NAME: 'shop', OTEL_RESOURCE_ATTRIBUTES: attributes }).traces).toEqual({
      serviceName: 'shop',
      attributes: { 'deployment.environment.name': 'a b', team: 'core' },
      headers: {},
    })
    expect(readConfig({ ...AT, OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop' }).traces?.serviceName).toBeUndefined()
  })

  test('get the headers for the collector from files, too', () => {
    const folder = mkdtempSync(join(tmpdir(), 'perennial-traces-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const names = SECRETS.filter(name => name.startsWith('OTEL_'))
    for (const name of names) writeFileSync(join(folder, name), `authorization=${name}\n`, { mode: 0o600 })
    const files = Object.fromEntries(names.map(name => [`${name}_FILE`, join(folder, name)]))
    expect(readConfig({ ...AT, ...files }).traces?.headers).toEqual({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=OTEL_EXPORTER_OTLP_HEADERS',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    })
  })

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, /^OTEL_EXPORTER_OTLP_ENDPOINT must be an address/],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'nowhere' }, /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an address/],
    [{ ...AT, OTEL_EXPORTER_OTLP_PROTOCOL: 'http' }, /^OTEL_EXPORTER_OTLP_PROTOCOL=http: must be one of http\/protobuf, /],
    [{ ...AT, OTEL_TRACES_SAMPLER: 'sometimes' }, /^OTEL_TRACES_SAMPLER=sometimes: must be one of parentbased_always_on, /],
    [{ ...AT, OTEL_TRACES_SAMPLER: 'traceidratio' }, /^OTEL_TRACES_SAMPLER_ARG must be the share/],
    [{ ...AT, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '10' }, /^OTEL_TRACES_SAMPLER_ARG must be/],
    [{ ...AT, OTEL_TRACES_EXPORTER: 'zipkin' }, /^OTEL_TRACES_EXPORTER=zipkin: must be otlp or none$/],
    [{ ...AT, OTEL_RESOURCE_ATTRIBUTES: 'nothing' }, /^OTEL_RESOURCE_ATTRIBUTES must be pairs/],
  ])('%j is refused with one line', (env, line) => {
    expect(() => readConfig(env)).toThrow(line)
  })
})
