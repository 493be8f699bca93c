/** What the build says of a module: the file that has it, and what that file loads at once. */
type Chunk = { file: string; css?: string[]; imports?: string[]; isEntry?: boolean; isDynamicEntry?: boolean }
export type BuildManifest = Record<string, Chunk>

const BASE = '/console/'
/** The page of /console itself. */
const FIRST = 'overview'

/** `/console/customers/c1` -> `customer`, `customers`: the pages that an address may show, the likelier one first. */
function pagesAt(path: string): string[] {
  const [page = '', thing = ''] = path.slice(BASE.length).split('/')
  if (page === '') return [FIRST]
  return thing === '' ? [page] : [page.replace(/s$/, ''), page]
}

/** The module of a page: pages/NAME.tsx, or pages/NAME/NAME.tsx, index.tsx or page.tsx. */
function moduleOf(manifest: BuildManifest, page: string): string | undefined {
  const names = [`pages/${page}.tsx`, ...[page, 'index', 'page'].map(file => `pages/${page}/${file}.tsx`)]
  return Object.keys(manifest).find(key => names.some(name => key === name || key.endsWith(`/${name}`)))
}

/** A module and all that it imports at once. */
function withImports(manifest: BuildManifest, module: string, found = new Map<string, Chunk>()): Chunk[] {
  const chunk = manifest[module]
  if (!chunk || found.has(module)) return [...found.values()]
  found.set(module, chunk)
  for (const imported of chunk.imports ?? []) withImports(manifest, imported, found)
  return [...found.values()]
}

/** Links with which a browser loads the page of an address together with the shell, and not after it. `html`: has those of the shell. */
export function pageLinks(manifest: BuildManifest, path: string, html: string): string {
  const module = pagesAt(path)
    .map(page => moduleOf(manifest, page))
    .find(name => name !== undefined)
  if (module === undefined) return ''
  const chunks = withImports(manifest, module)
  const isNew = (file: string) => !html.includes(`"${BASE}${file}"`)
  const scripts = new Set(chunks.map(({ file }) => file).filter(isNew))
  const styles = new Set(chunks.flatMap(({ css }) => css ?? []).filter(isNew))
  return [
    ...[...scripts].map(file => `<link rel="modulepreload" crossorigin href="${BASE}${file}">`),
    ...[...styles].map(file => `<link rel="stylesheet" crossorigin href="${BASE}${file}">`),
  ].join('\n')
}
