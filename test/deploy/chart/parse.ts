// The part of Go templates that our chart uses, so that it can be rendered where there is no helm. What it does not know, it refuses.

export type Operand =
  | { is: 'value'; value: unknown }
  | { is: 'path'; from: '.' | '$' | `$${string}`; names: string[] }
  | { is: 'pipe'; pipe: Pipe }
export type Command = { name: string | null; args: Operand[] }
export type Pipe = Command[]
export type Branch = { when: Pipe | null; body: Node[] }
export type Node =
  | { is: 'text'; text: string }
  | { is: 'print'; pipe: Pipe }
  | { is: 'set'; name: string; pipe: Pipe }
  | { is: 'if'; branches: Branch[] }
  | { is: 'with'; branches: Branch[] }
  | { is: 'range'; key: string | null; value: string | null; branches: Branch[] }
  | { is: 'define'; name: string; body: Node[] }

const ACTION = /\{\{(-?)\s*([\s\S]*?)\s*(-?)\}\}/g
const TOKEN = /\s*("(?:[^"\\]|\\.)*"|\||\(|\)|[^\s|()]+)/y

/** Texts and actions in turn. A dash eats the white space on its side, line ends included. */
function pieces(source: string): { text?: string; action?: string }[] {
  const found: { text?: string; action?: string }[] = []
  let at = 0
  let isEaten = false
  for (const match of source.matchAll(ACTION)) {
    let text = source.slice(at, match.index)
    if (isEaten) text = text.replace(/^\s+/, '')
    if (match[1]) text = text.replace(/\s+$/, '')
    found.push({ text }, { action: match[2]! })
    isEaten = match[3] === '-'
    at = match.index + match[0].length
  }
  const rest = source.slice(at)
  return [...found, { text: isEaten ? rest.replace(/^\s+/, '') : rest }]
}

function operandOf(token: string): Operand {
  if (token.startsWith('"')) return { is: 'value', value: JSON.parse(token) }
  if (/^-?\d+$/.test(token)) return { is: 'value', value: Number(token) }
  if (token === 'true' || token === 'false') return { is: 'value', value: token === 'true' }
  if (/^(\.|\$\w*(\.|$))/.test(token)) {
    const [head = '', ...names] = token.split('.')
    return { is: 'path', from: head === '' ? '.' : (head as '$'), names: names.filter(name => name !== '') }
  }
  throw new Error(`the renderer does not know ${token}`)
}

function pipeOf(text: string): Pipe {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) tokens.push(match[1]!)
  const parse = (): Pipe => {
    const commands: Command[] = [{ name: null, args: [] }]
    for (let token = tokens.shift(); token !== undefined && token !== ')'; token = tokens.shift()) {
      const command = commands.at(-1)!
      if (token === '|') commands.push({ name: null, args: [] })
      else if (token === '(') command.args.push({ is: 'pipe', pipe: parse() })
      else if (command.name === null && command.args.length === 0 && /^[a-zA-Z]+$/.test(token) && !/^(true|false)$/.test(token))
        command.name = token
      else command.args.push(operandOf(token))
    }
    return commands
  }
  return parse()
}

export function parse(source: string): Node[] {
  const rest = pieces(source)
  const until = (): { body: Node[]; end: string } => {
    const body: Node[] = []
    for (let piece = rest.shift(); piece; piece = rest.shift()) {
      if (piece.text !== undefined) {
        if (piece.text !== '') body.push({ is: 'text', text: piece.text })
        continue
      }
      const action = piece.action!
      if (action.startsWith('/*')) continue
      if (/^(end|else)\b/.test(action)) return { body, end: action }
      const [word = ''] = action.split(/\s/)
      const after = action.slice(word.length).trim()
      const assigned = /^\$(\w+)\s*:=\s*([\s\S]+)$/.exec(action)
      if (word === 'define') body.push({ is: 'define', name: JSON.parse(after), body: until().body })
      else if (word === 'if' || word === 'with') body.push({ is: word, branches: branches(after) })
      else if (word === 'range') {
        const [, key, value, over] = /^\$(\w+),\s*\$(\w+)\s*:=\s*(.+)$/.exec(after) ?? [null, null, null, after]
        body.push({ is: 'range', key: key ?? null, value: value ?? null, branches: branches(over!) })
      } else if (assigned) body.push({ is: 'set', name: assigned[1]!, pipe: pipeOf(assigned[2]!) })
      else body.push({ is: 'print', pipe: pipeOf(action) })
    }
    return { body, end: '' }
  }
  const branches = (condition: string): Branch[] => {
    const found: Branch[] = []
    let when: Pipe | null = pipeOf(condition)
    for (;;) {
      const { body, end } = until()
      found.push({ when, body })
      if (end === 'end') return found
      if (end === '') throw new Error(`no end of ${condition}`)
      const also = /^else if (.+)$/.exec(end)
      when = also ? pipeOf(also[1]!) : null
    }
  }
  const { body, end } = until()
  if (end !== '') throw new Error(`"${end}" without a beginning`)
  return body
}
