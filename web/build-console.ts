// `npm run build:console` builds the pages of the console into web/console/dist. A start of the service runs it with --needed: only if they are not those
// of the sources.
import { join } from 'node:path'
import { buildOnce } from '../app/console/build.ts'

const root = join(import.meta.dirname, '..')
const [isNeeded, given] = [process.argv[2] === '--needed', process.argv[3]]
const { build } = await import('vite')
const at = given ?? root
const configFile = join(at, 'web/console/vite.config.ts')
await buildOnce(at, async outDir => void (await build({ configFile, logLevel: 'warn', build: { outDir, emptyOutDir: true } })), {
  isForced: !isNeeded,
})
// A bundler that leaves threads behind does not keep the process.
process.exit(0)
