/** `same` is on both sides. `gap`: so many lines that are the same, which are left out. */
export type Line = { kind: 'same' | 'before' | 'after'; text: string } | { kind: 'gap'; lines: number }

/** As many lines stay around each change. */
const AROUND = 2
/** Beyond that the sides are shown one after the other: each pair of lines is compared. */
const MOST_PAIRS = 1_000_000

const linesOf = (value: unknown): string[] => (value === null || value === undefined ? [] : JSON.stringify(value, undefined, 2).split('\n'))

/** The two sides of a change as one text of JSON, line by line. */
export function differenceOf(before: unknown, after: unknown): Line[] {
  const [was, is] = [linesOf(before), linesOf(after)]
  const all = was.length * is.length > MOST_PAIRS ? oneAfterTheOther(was, is) : merged(was, is)
  return before === null || after === null ? all : withGaps(all)
}

type Shown = Exclude<Line, { kind: 'gap' }>
const oneAfterTheOther = (was: readonly string[], is: readonly string[]): Shown[] => [
  ...was.map(text => ({ kind: 'before' as const, text })),
  ...is.map(text => ({ kind: 'after' as const, text })),
]

/** By the longest common part. A comma at the end of a line, which the next line makes, is no difference. */
function merged(was: readonly string[], is: readonly string[]): Shown[] {
  const bare = (text: string) => text.replace(/,$/, '')
  const isSame = (i: number, j: number) => bare(was[i]!) === bare(is[j]!)
  const width = is.length + 1
  const common = new Uint32Array((was.length + 1) * width)
  for (let i = was.length - 1; i >= 0; i--)
    for (let j = is.length - 1; j >= 0; j--)
      common[i * width + j] = isSame(i, j)
        ? common[(i + 1) * width + j + 1]! + 1
        : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!)
  const lines: Shown[] = []
  let [i, j] = [0, 0]
  while (i < was.length || j < is.length) {
    if (i < was.length && j < is.length && isSame(i, j)) {
      lines.push({ kind: 'same', text: is[j]! })
      i++
      j++
    } else if (j >= is.length || (i < was.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
      lines.push({ kind: 'before', text: was[i++]! })
    else lines.push({ kind: 'after', text: is[j++]! })
  }
  return lines
}

function withGaps(lines: readonly Shown[]): Line[] {
  const isNear = lines.map((_, at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== 'same'))
  const out: Line[] = []
  for (const [at, line] of lines.entries()) {
    const last = out.at(-1)
    if (isNear[at]) out.push(line)
    else if (last?.kind === 'gap') last.lines++
    else out.push({ kind: 'gap', lines: 1 })
  }
  return out
}
