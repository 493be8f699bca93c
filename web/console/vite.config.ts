import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const DESCRIPTION = fileURLToPath(new URL('../../schemas/generated/openapi.json', import.meta.url))
const OPERATIONS = 'virtual:operations'

const SCOPES = 'virtual:scopes'
const SAMPLE = 'virtual:sample'
const ORDERS = fileURLToPath(new URL('../../examples/cdnow.csv', import.meta.url))
const MODULES: readonly string[] = [OPERATIONS, SCOPES, SAMPLE]

type Described = {
  paths: Record<string, Record<string, { operationId?: string }>>
  components: { schemas: { Scope: { enum: string[] } } }
}

/** The names of operations that the pages write. */
const used = (): Set<string> =>
  new Set(
    globSync('{pages,parts,chart,data,shell}/**/*.{ts,tsx}', { cwd: HERE }).flatMap(
      file => readFileSync(`${HERE}${file}`, 'utf8').match(/(?<=['"])v4\w+(?=['"])/g) ?? [],
    ),
  )

/**
 * Method and path of each operation that is used, and the scopes, out of the description: the typed client itself would add 40 kB to the pages. And the
 * orders of the example, for the page that loads them.
 */
function described(): Plugin {
  return {
    name: 'described',
    resolveId: id => (MODULES.includes(id) ? `\0${id}` : undefined),
    load(id) {
      if (!MODULES.includes(id.slice(1))) return
      if (id === `\0${SAMPLE}`) return `export const SAMPLE = ${JSON.stringify(readFileSync(ORDERS, 'utf8'))}`
      this.addWatchFile(DESCRIPTION)
      const { paths, components } = JSON.parse(readFileSync(DESCRIPTION, 'utf8')) as Described
      if (id === `\0${SCOPES}`) return `export const SCOPES = ${JSON.stringify(components.schemas.Scope.enum)}`
      const names = used()
      const all = Object.entries(paths).flatMap(([path, item]) =>
        Object.entries(item).flatMap(([method, { operationId }]) =>
          operationId && names.has(operationId) ? [[operationId, `${method.toUpperCase()} ${path}`]] : [],
        ),
      )
      return `export const OPERATIONS = ${JSON.stringify(Object.fromEntries(all))}`
    },
  }
}

/**
 * What every page loads is one file. What some pages share goes with what nearly the same pages share, until it is large enough: a page loads a third of
 * the files (25 for a chart, not 63), of no more bytes.
 */
const GROUPS = [
  { name: 'shell', tags: ['$initial' as const], priority: 1 },
  // On its own: with the drawing, a page that only writes dates like a chart would load that.
  { name: 'picture', test: /[\\/]chart[\\/]picture\.ts$/, priority: 1 },
  { name: 'shared', minShareCount: 2, entriesAware: true, entriesAwareMergeThreshold: 2_000 },
]

export default defineConfig({
  root: HERE,
  base: '/console/',
  plugins: [react(), described()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    manifest: 'manifest.json',
    modulePreload: { polyfill: false },
    // A file in a page would be a data: address, which the policy of the page refuses for fonts.
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        // The frame lists the files of all pages: names of parts in theirs would add a kB to it. The manifest has the names.
        ...{ chunkFileNames: 'assets/[hash].js', assetFileNames: 'assets/[hash][extname]' },
        codeSplitting: { groups: GROUPS },
      },
    },
  },
})
