import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { type Fetched, npmPackages } from '../../harness/npm-package.ts'

const TYPES: Fetched[] = [
  {
    name: 'kubernetes-types',
    version: '1.30.0',
    integrity: 'sha512-Dew1okvhM/SQcIa2rcgujNndZwU8VnSapDgdxlYoB84ZlpAD43U6KLAFqYo17ykSFGHNPrg0qry0bP+GJd9v7Q==',
  },
  {
    name: '@kubernetes-models/prometheus-operator',
    version: '6.0.0',
    integrity: 'sha512-ySNW4T6U6Vn86bmcJ/emmAYJ/UrzpNvzxWexWJSALwgiO4FqCgL6WoqFsOReSiMhw/LlF+MljQvoiwD3RnaGmg==',
  },
  {
    name: '@kubernetes-models/base',
    version: '6.0.1',
    integrity: 'sha512-pXKCFeSoL6RsMxoPDwaJ5JtijVjeuNCacgtYS9dImF7qFdzdc9lcQbem6y6Ug7/K6/bFOWdTu3qIX88IK81o0A==',
  },
  {
    name: '@kubernetes-models/apimachinery',
    version: '3.0.2',
    integrity: 'sha512-6Vbzr/tinxPBGGdfYjXiV9WPj8PEhyiqGJiWhXrsihK7h6glPj4HKUxZ0YwYXH/5uucm/NVef/xY3vZ4Crj1Fg==',
  },
]
const FILE = '/resources.ts'

export type Typed = { apiVersion: string; kind: string; metadata: { name: string } }

/** Where the type of a resource is, and its name there. */
function typeOf({ apiVersion, kind }: Typed): { from: string; name: string } {
  if (apiVersion.startsWith('monitoring.coreos.com/'))
    return { from: `@kubernetes-models/prometheus-operator/${apiVersion}/${kind}`, name: `I${kind}` }
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion]
  return { from: `kubernetes-types/${group!.split('.')[0]}/${version}`, name: kind }
}

/**
 * What is wrong with resources by the types of Kubernetes and of the Prometheus operator: fields that do not exist, values of another kind, what is
 * missing. The resources stand in a source of TypeScript, and the compiler compares.
 */
export async function faultsOf(resources: Typed[]): Promise<string[]> {
  const fetched = await npmPackages(TYPES)
  const folders = TYPES.map(({ name }, i) => [name, fetched[i]!] as const)
  const lines = resources.map((resource, i) => {
    const { from, name } = typeOf(resource)
    return `import type { ${name} as Type${i} } from '${from}'\nexport const resource${i}: Type${i} = ${JSON.stringify(resource)}\n`
  })
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  }
  const host = ts.createCompilerHost(options)
  const { readFile, fileExists } = host
  const [source, isSource] = [lines.join(''), (path: string) => path === FILE]
  host.readFile = path => (isSource(path) ? source : readFile(path))
  host.fileExists = path => isSource(path) || fileExists(path)
  host.getSourceFile = (path, target) => {
    const text = isSource(path) ? source : existsSync(path) ? readFileSync(path, 'utf8') : undefined
    return text === undefined ? undefined : ts.createSourceFile(path, text, target)
  }
  const resolved = (name: string): string | undefined => {
    const found = folders.find(([packageName]) => name === packageName || name.startsWith(`${packageName}/`))
    if (!found) return undefined
    const path = join(found[1], name.slice(found[0].length))
    return [`${path}.d.ts`, join(path, 'index.d.ts')].find(existsSync)
  }
  host.resolveModuleNameLiterals = (names, containing) =>
    names.map(({ text }) => {
      const own = resolved(text)
      if (own) return { resolvedModule: { resolvedFileName: own, extension: ts.Extension.Dts } }
      return ts.resolveModuleName(text, containing, options, host)
    })
  const program = ts.createProgram([FILE], options, host)
  const all = [
    ...program.getOptionsDiagnostics(),
    ...program.getSyntacticDiagnostics(),
    ...program.getSemanticDiagnostics(program.getSourceFile(FILE)),
  ]
  return all.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}
