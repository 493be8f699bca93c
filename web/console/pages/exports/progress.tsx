import { useEffect, useState } from 'react'
import type { Export } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { count } from '../../parts/format.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { chipOf, isUnfinished } from './words.ts'

/** What the service asks for between two looks at an unfinished export. */
const EVERY = 2_000

/** One export, looked at again and again until it has ended. */
export function useExport(id: string, { when = true }: { when?: boolean } = {}) {
  const [busy, setBusy] = useState(true)
  const read = useRead('v4GetExport', { path: { export_id: id } }, { topics: ['exports'], when, ...(busy && { every: EVERY }) })
  const ended = read.data !== undefined && !isUnfinished(read.data)
  useEffect(() => setBusy(!ended), [ended])
  return read
}

/** The state of an export; while it is made, how far it is. */
export function Progress({ of: listed }: { of: Export }) {
  const unfinished = isUnfinished(listed)
  const { data = listed } = useExport(listed.id, { when: unfinished })
  const one = unfinished ? data : listed
  return (
    <>
      <StatusChip {...chipOf(one)} />
      {one.status === 'processing' && <Bar of={one} />}
    </>
  )
}

export function Bar({ of: { rows_written: written, rows_expected: expected } }: { of: Export }) {
  const share = expected !== null && expected > 0 ? Math.min(1, written / expected) : undefined
  const text =
    expected === null
      ? t('{n} rows so far', { n: count(written) })
      : t('{n} of at most {all} rows', { n: count(written), all: count(expected) })
  return (
    <span className="export-progress">
      {share !== undefined && (
        <span
          className="export-bar"
          role="progressbar"
          aria-label={t('Rows written')}
          aria-valuenow={Math.floor(share * 100)}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <i style={{ width: `${share * 100}%` }} />
        </span>
      )}
      <span className="soft num">{text}</span>
    </span>
  )
}
