import { registerHooks } from 'node:module'

// The product, which tells the modules of OpenTelemetry that it has loaded; and then those of the file that sends traces.
const loaded = new Set<string>()
registerHooks({
  resolve(specifier, context, next) {
    // The library of metrics loads the API, which does nothing by itself.
    if (specifier.startsWith('@opentelemetry/') && specifier !== '@opentelemetry/api') loaded.add(specifier)
    return next(specifier, context)
  },
})
const { readConfig } = await import('../../app/config.ts')
const { logger } = await import('../../app/logger.ts')
const { startPerennial } = await import('../../app/start.ts')
const config = readConfig(process.env)
await startPerennial(config, logger(config.logLevel))
console.log(`Loaded: ${[...loaded].join(' ') || 'nothing'}.`)
await import('../../app/open-telemetry.ts')
console.log(`To send traces: ${[...loaded].join(' ')}.`)
console.log('Perennial worker is ready.')
