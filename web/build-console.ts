// `npm run build:console` builds the pages of the console into web/console/dist. A start of the service runs it with --needed: only if they are not those
// of the sources.
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildOnce } from '../app/console/build.ts'

/** The font of the pages, for pictures: pixels are drawn without the fonts of the machine. */
const FONT = 'node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'

const root = join(import.meta.dirname, '..')
const [isNeeded, given] = [process.argv[2] === '--needed', process.argv[3]]
const { build } = await import('vite')
const at = given ?? root
const configFile = join(at, 'web/console/vite.config.ts')
const server = join(at, 'web/console/server.tsx')

/** What draws charts in a process without a browser, as one file with everything in it: it runs where no package of the pages is installed. */
async function buildServer(outDir: string): Promise<void> {
  await build({
    configFile,
    logLevel: 'warn',
    define: { 'process.env.NODE_ENV': '"production"' },
    ssr: { noExternal: true },
    build: {
      ...{ outDir, emptyOutDir: false, copyPublicDir: false, manifest: false, ssr: server, minify: true },
      rolldownOptions: { output: { entryFileNames: 'server.js', codeSplitting: false } },
    },
  })
  const { decompress } = (await import('wawoff2')).default
  await writeFile(join(outDir, 'inter.ttf'), await decompress(await readFile(join(root, FONT))))
}

await buildOnce(
  at,
  async outDir => {
    await build({ configFile, logLevel: 'warn', build: { outDir, emptyOutDir: true } })
    if (existsSync(server)) await buildServer(outDir)
  },
  { isForced: !isNeeded },
)
// A bundler that leaves threads behind does not keep the process.
process.exit(0)
