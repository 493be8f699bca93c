import { useAddress } from '../../data/address.ts'
import { Icon } from '../../parts/icon.tsx'
import { runReason } from '../../parts/run-words.ts'
import { counted } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { describe } from './describe.tsx'
import type { Row } from './timeline-rows.ts'

/** A row of the timeline; its title opens the details. */
export function EntryRow({ id, row }: { id: string; row: Row }) {
  const [, set] = useAddress()
  const { entry, skipped = [] } = row
  const { icon, tone, title, more } = describe(id, row)
  const open = (kind: string, key: string) => set({ at: `${kind}.${key}` }, { push: true })
  return (
    <li>
      <span className={`node ${tone}`}>
        <Icon name={icon} size={13} />
      </span>
      <div>
        <button type="button" className="row-link line-title" data-row onClick={() => open(entry.kind, entry.id)}>
          {skipped.length > 1 ? counted(skipped.length, '{n} automation did not start', '{n} automations did not start') : title}
        </button>
        {skipped.length > 1 ? (
          <ul className="timeline-skipped">
            {skipped.map(run => (
              <li key={run.id}>
                <button type="button" className="row-link" onClick={() => open('automation_run', run.id)}>
                  {run.automation_name ?? run.automation_id}
                </button>
                {run.reason && <>: {runReason(run.reason)}</>}
              </li>
            ))}
          </ul>
        ) : (
          more && <div className="line-more">{more}</div>
        )}
      </div>
      <div className="line-when">
        <Time at={row.at} />
      </div>
    </li>
  )
}
