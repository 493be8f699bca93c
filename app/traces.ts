import type { Logger } from 'pino'
import { setTracing } from '../store/tracing.ts'
import type { TraceOptions } from './trace-options.ts'

/** Sends the traces of this process from now on. Resolves to the function that sends the rest and ends that. */
export async function startTraces(options: TraceOptions, role: string, log: Logger): Promise<() => Promise<void>> {
  const { openTelemetry } = await import('./open-telemetry.ts')
  const { tracing, stop } = openTelemetry(options, role, log)
  setTracing(tracing)
  return async () => {
    setTracing(undefined)
    await stop()
  }
}
