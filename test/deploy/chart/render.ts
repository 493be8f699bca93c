import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments, parse as parseYaml, stringify } from 'yaml'
import { type Node, type Operand, type Pipe, parse } from './parse.ts'

type Scope = { dot: unknown; variables: Map<string, unknown> }
export type Values = Record<string, unknown>

const isTrue = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)

const indented = (spaces: number, text: string) => text.replaceAll(/^/gm, ' '.repeat(spaces))

export type Chart = { values: Values; text(name: string, values: Values): string; documents(values: Values): Record<string, unknown>[] }

/** The values of a user laid over those of the chart: mappings are joined, everything else is replaced. */
export function laidOver(under: unknown, over: unknown): unknown {
  if (!isMapping(under) || !isMapping(over)) return over
  const names = new Set([...Object.keys(under), ...Object.keys(over)])
  return Object.fromEntries([...names].map(name => [name, name in over ? laidOver(under[name], over[name]) : under[name]]))
}
const isMapping = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The chart in a folder, as a release of the name `perennial`. A value that is not there is an error where it would be printed. */
export function chartIn(folder: string): Chart {
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const about = parseYaml(read('Chart.yaml')) as { name: string; version: string; appVersion: string }
  const own = parseYaml(read('values.yaml')) as Values
  const names = readdirSync(join(folder, 'templates'))
  const parts = new Map<string, Node[]>()
  for (const name of names.filter(name => name.endsWith('.tpl')))
    for (const node of parse(read(`templates/${name}`))) if (node.is === 'define') parts.set(node.name, node.body)

  const functions: Record<string, (...args: never[]) => unknown> = {
    include: (name: string, dot: unknown) => {
      const body = parts.get(name)
      if (!body) throw new Error(`no template ${name}`)
      return render(body, { dot, variables: new Map([['', dot]]) })
    },
    toYaml: (value: unknown) => stringify(value, { lineWidth: 0 }).trimEnd(),
    nindent: (spaces: number, text: string) => `\n${indented(spaces, text)}`,
    indent: indented as never,
    quote: (value: unknown) => JSON.stringify(String(value)),
    default: (standard: unknown, value: unknown) => (isTrue(value) ? value : standard),
    not: (value: unknown) => !isTrue(value),
    and: (...values: unknown[]) => values.find(value => !isTrue(value)) ?? values.at(-1),
    has: (item: unknown, list: unknown[]) => list.includes(item),
    replace: (from: string, to: string, text: string) => text.replaceAll(from, to),
    printf: (form: string, ...values: string[]) => values.reduce((text, value) => text.replace('%s', value), form),
    or: (...values: unknown[]) => values.find(isTrue) ?? values.at(-1),
  }

  const operandValue = (operand: Operand, scope: Scope): unknown => {
    if (operand.is === 'value') return operand.value
    if (operand.is === 'pipe') return evaluate(operand.pipe, scope)
    const { from, names } = operand
    const start = from === '.' ? scope.dot : scope.variables.get(from.slice(1))
    return names.reduce<unknown>((value, name) => (value as Values | undefined)?.[name], start)
  }
  const evaluate = (pipe: Pipe, scope: Scope): unknown =>
    pipe.reduce<{ value?: unknown; isFirst: boolean }>(
      ({ value, isFirst }, { name, args }) => {
        const given = [...args.map(arg => operandValue(arg, scope)), ...(isFirst ? [] : [value])]
        if (name !== null) {
          const known = functions[name]
          if (!known) throw new Error(`the renderer does not know the function ${name}`)
          return { value: known(...(given as never[])), isFirst: false }
        }
        const [first, ...rest] = given
        return { value: typeof first === 'function' ? first(...rest) : first, isFirst: false }
      },
      { isFirst: true },
    ).value

  const render = (nodes: Node[], scope: Scope): string => {
    const inner: Scope = { dot: scope.dot, variables: new Map(scope.variables) }
    return nodes.map(node => one(node, inner)).join('')
  }
  const one = (node: Node, scope: Scope): string => {
    switch (node.is) {
      case 'text':
        return node.text
      case 'define':
        return ''
      case 'set':
        scope.variables.set(node.name, evaluate(node.pipe, scope))
        return ''
      case 'print': {
        const value = evaluate(node.pipe, scope)
        if (value === undefined || value === null) throw new Error(`prints a value that is not there: ${JSON.stringify(node.pipe)}`)
        return String(value)
      }
      case 'if':
      case 'with': {
        for (const { when, body } of node.branches) {
          const value = when && evaluate(when, scope)
          if (when === null || isTrue(value)) return render(body, node.is === 'with' && when ? { ...scope, dot: value } : scope)
        }
        return ''
      }
      case 'range': {
        const [first] = node.branches
        const over = evaluate(first!.when!, scope)
        const entries = Array.isArray(over)
          ? [...over.entries()]
          : Object.entries((over ?? {}) as Values).sort(([a], [b]) => (a < b ? -1 : 1))
        return entries
          .map(([key, value]) => {
            const variables = new Map(scope.variables)
            if (node.key !== null) variables.set(node.key, key).set(node.value!, value)
            return render(first!.body, { dot: value, variables })
          })
          .join('')
      }
    }
  }

  const text = (name: string, given: Values): string => {
    const file = (path: string) => (existsSync(join(folder, path)) ? read(path) : '')
    const dot = {
      Values: laidOver(own, given),
      Chart: { Name: about.name, Version: about.version, AppVersion: about.appVersion },
      Release: { Name: 'perennial', Namespace: 'default', Service: 'Helm' },
      Files: { Get: file },
    }
    return render(parse(read(`templates/${name}`)), { dot, variables: new Map([['', dot]]) })
  }
  const documents = (given: Values) =>
    names
      .filter(name => name.endsWith('.yaml'))
      .sort()
      .flatMap(name => parseAllDocuments(text(name, given)) as { errors: Error[]; toJS(): unknown }[])
      .flatMap(document => {
        if (document.errors.length > 0) throw document.errors[0]
        const value = document.toJS()
        return value === null ? [] : [value as Record<string, unknown>]
      })
  return { values: own, text, documents }
}
