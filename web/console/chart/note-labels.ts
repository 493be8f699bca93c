import type { Note } from './picture.ts'

/** px; of text in 10.5 px. */
const CHARACTER = 8
const GAP = 4

export type NoteLabel = { x: number; text: string }

type Group = { from: number; to: number; letters: string[] }

/** Two letters as they are, of more the first and the last one. */
const textOf = ({ letters }: Group): string => (letters.length > 2 ? `${letters[0]}–${letters.at(-1)}` : letters.join(' '))

const middleOf = ({ from, to }: Group): number => (from + to) / 2
const halfOf = (group: Group): number => (textOf(group).length * CHARACTER) / 2

const touch = (left: Group, right: Group): boolean => middleOf(right) - halfOf(right) < middleOf(left) + halfOf(left) + GAP

/** The buckets in which something happened, each with its letters, in their order. */
export function notedBuckets(notes: readonly Note[], starts: readonly number[]): Map<number, string[]> {
  const letters = new Map<number, string[]>()
  for (const { at, letter } of notes) {
    const bucket = starts.findLastIndex(start => start <= at)
    if (bucket >= 0) letters.set(bucket, [...(letters.get(bucket) ?? []), letter])
  }
  return new Map([...letters].sort(([a], [b]) => a - b))
}

/** What stands above the buckets: letters that would touch each other are one label, between their buckets. `x`: where a bucket is, in px. */
export function noteLabels(buckets: ReadonlyMap<number, string[]>, x: (bucket: number) => number): NoteLabel[] {
  const groups: Group[] = []
  for (const [bucket, letters] of buckets) {
    let group: Group = { from: x(bucket), to: x(bucket), letters }
    for (let left = groups.at(-1); left && touch(left, group); left = groups.at(-1)) {
      groups.pop()
      group = { from: left.from, to: group.to, letters: [...left.letters, ...group.letters] }
    }
    groups.push(group)
  }
  return groups.map(group => ({ x: middleOf(group), text: textOf(group) }))
}
