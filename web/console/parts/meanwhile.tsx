import './meanwhile.css'
import { Button } from '@mantine/core'
import { useState } from 'react'
import { type AnyInput, addressOfCall, type Input, type OperationName, type Result } from '../data/operations.ts'
import { usePlace } from '../data/place.ts'
import { request } from '../data/request.ts'
import { Icon } from './icon.tsx'
import { t } from './t.ts'

/** Reads an operation past everything that is kept: these objects have no version that a change could name, so a form looks again before it writes. */
export function useLook<Name extends OperationName>(name: Name, input: Input<Name>) {
  const place = usePlace()
  return () => request<Result<Name>>(addressOfCall(place!, name, input as AnyInput), { method: 'GET' })
}

export type Difference = { field: string; theirs: string }

/** Which of the fields somebody else has changed since the form was opened. */
export const differences = (before: object, now: object, fields: Readonly<Record<string, string>>): Difference[] =>
  Object.entries(fields).flatMap(([field, label]) => {
    const [was, is] = [(before as Record<string, unknown>)[field], (now as Record<string, unknown>)[field]]
    return was === is ? [] : [{ field: label, theirs: is === null || is === '' ? t('nothing') : String(is) }]
  })

/**
 * What a form began with; undefined: it makes something. `isStill` looks whether that is what is stored; where somebody has changed it, the newer one takes
 * its place, and `newer` has it until it is taken.
 */
export function useBefore<Stored extends object, First extends Stored | undefined>(
  first: First,
  look: () => Promise<Stored>,
  fields: Readonly<Record<string, string>>,
  inWords: (of: Stored) => object = of => of,
) {
  const [before, setBefore] = useState<First | Stored>(first)
  const [newer, setNewer] = useState<{ of: Stored; found: Difference[] }>()
  return {
    before,
    newer,
    taken: () => setNewer(undefined),
    async isStill(): Promise<boolean> {
      const now = await look()
      const found = before === undefined ? [] : differences(inWords(before), inWords(now), fields)
      if (found.length === 0) return true
      setBefore(now)
      setNewer({ of: now, found })
      return false
    },
  }
}

/** The newer version beside one's own, which stays in the form. */
export const Newer = ({ found, onTake }: { found: readonly Difference[]; onTake: () => void }) => (
  <div className="newer" role="alert">
    <Icon name="swap" size={16} />
    <div>
      <strong>{t('Somebody changed this in the meantime')}</strong>
      <ul>
        {found.map(({ field, theirs }) => (
          <li key={field}>{t('{field}: now {theirs}', { field, theirs })}</li>
        ))}
      </ul>
      <p>{t('Save again to replace it by what you typed.')}</p>
    </div>
    <Button size="xs" variant="default" onClick={onTake}>
      {t('Take the newer one')}
    </Button>
  </div>
)
