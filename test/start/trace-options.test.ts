// The variables of traces.
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../app/config.ts'

const AT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

describe('traces', () => {
  test('are sent only where there is an endpoint', () => {
    expect(readConfig({}).traces).toBeUndefined()
    expect(readConfig({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'nonsense' }).traces).toBeUndefined()
    expect(readConfig(AT).traces).toEqual({ serviceName: 'perennial', attributes: {} })
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
    })
    expect(readConfig({ ...AT, OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop' }).traces?.serviceName).toBeUndefined()
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
