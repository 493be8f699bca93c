import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { option, say } from './report.ts'
import type { Resources } from './resources.ts'

/**
 * With `--traces 0.1` the variables with which the product sends that share of its traces to a collector that takes everything; without it, none. Ends with
 * the bench.
 */
export async function tracesOf(resources: Resources): Promise<Record<string, string>> {
  const share = option('traces', 0)
  if (share === 0) return {}
  let bytes = 0
  const server = createServer(async (request, response) => {
    for await (const chunk of request) bytes += (chunk as Buffer).length
    response.end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  resources.undo(async () => {
    say(`  the collector took ${Math.round(bytes / 1024)} KiB`)
    server.closeAllConnections()
    server.close()
  })
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: String(share),
  }
}
