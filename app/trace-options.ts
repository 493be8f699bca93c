/**
 * Everything else that the variables OTEL_… say is read by the library itself. `serviceName`: unless the attributes of the resource name it. `headers`:
 * variables that may come from a file, by their names: the library reads them from the environment of the process, which does not have them then.
 */
export type TraceOptions = { serviceName: string | undefined; attributes: Record<string, string>; headers: Record<string, string> }

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT']
const HEADERS = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']
const PROTOCOLS = ['http/protobuf', 'http/json', 'grpc']
const SAMPLERS = ['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio', 'always_on', 'always_off', 'traceidratio']

type Text = (name: string) => string | undefined
type Refuse = (line: string) => never

/**
 * Undefined unless an endpoint is set, and where the usual variables turn traces off. `text`: the value of a variable. `refuse`: throws the line for
 * the operator; the library would only warn, and send something else than what was asked for.
 */
export function traceOptions(text: Text, refuse: Refuse): TraceOptions | undefined {
  const endpoints = ENDPOINTS.filter(name => text(name) !== undefined)
  if (endpoints.length === 0 || text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined
  const exporter = text('OTEL_TRACES_EXPORTER') ?? 'otlp'
  if (exporter === 'none') return undefined
  if (exporter !== 'otlp') refuse(`OTEL_TRACES_EXPORTER=${exporter}: must be otlp or none`)
  for (const name of endpoints) {
    const url = URL.canParse(text(name)!) ? new URL(text(name)!) : null
    // The value is not shown: an address may contain a password.
    if (url === null || !['http:', 'https:'].includes(url.protocol))
      refuse(`${name} must be an address that begins with http:// or https://`)
  }
  for (const name of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']) checkOneOf(name, PROTOCOLS, text, refuse)
  checkSampler(text, refuse)
  const attributes = attributesOf(text('OTEL_RESOURCE_ATTRIBUTES') ?? '', refuse)
  const headers = Object.fromEntries(HEADERS.flatMap(name => (text(name) === undefined ? [] : [[name, text(name)!]])))
  return {
    serviceName: text('OTEL_SERVICE_NAME') ?? (attributes['service.name'] === undefined ? 'perennial' : undefined),
    attributes,
    headers,
  }
}

function checkOneOf(name: string, choices: string[], text: Text, refuse: Refuse): void {
  const given = text(name)
  if (given !== undefined && !choices.includes(given)) refuse(`${name}=${given}: must be one of ${choices.join(', ')}`)
}

function checkSampler(text: Text, refuse: Refuse): void {
  checkOneOf('OTEL_TRACES_SAMPLER', SAMPLERS, text, refuse)
  if (!text('OTEL_TRACES_SAMPLER')?.endsWith('traceidratio')) return
  const given = text('OTEL_TRACES_SAMPLER_ARG')
  const ratio = Number(given)
  if (given === undefined || !(ratio >= 0 && ratio <= 1))
    refuse('OTEL_TRACES_SAMPLER_ARG must be the share of traces that are kept, 0 to 1')
}

/** `key=value,key=value`, the values percent-encoded. */
function attributesOf(given: string, refuse: Refuse): Record<string, string> {
  const pairs = given
    .split(',')
    .filter(pair => pair.trim() !== '')
    .map(pair => /^\s*([^=\s]+)\s*=(.*)$/.exec(pair))
  try {
    return Object.fromEntries(pairs.map(pair => [pair![1]!, decodeURIComponent(pair![2]!.trim())]))
  } catch {
    return refuse('OTEL_RESOURCE_ATTRIBUTES must be pairs as key=value, separated by commas, percent-encoded')
  }
}
