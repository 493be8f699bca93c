import { createContext, useContext } from 'react'
import type { ApiError } from '../../data/api-error.ts'
import { Fault } from '../../parts/fault.tsx'
import { faultAt } from './draft.ts'

/** What the service has refused last. */
export const Refused = createContext<ApiError | null>(null)

/** The fault of a field. */
export const useFault = (path: string): string | undefined => faultAt(useContext(Refused), path)

/** A fault below what is no field of text. */
export function FieldFault({ path }: { path: string }) {
  const fault = useFault(path)
  return fault ? <p className="field-fault">{fault}</p> : null
}

/** The fault of a list or a step as a whole: those of its fields stand with them. */
export function OwnFault({ path }: { path: string }) {
  const fault = useContext(Refused)?.details.find(({ field }) => field === path)
  return fault ? <p className="field-fault">{fault.message}</p> : null
}

/** All that was refused, each leading to its field. */
export function Faults({ error }: { error: ApiError }) {
  const found = error.details.filter(({ field }) => field)
  return (
    <div className="edit-faults">
      <Fault error={error} />
      {found.length > 0 && (
        <ul>
          {found.map(({ field, message }) => (
            <li key={`${field} ${message}`}>
              <button type="button" className="link edit-fault" onClick={() => focusOn(field!)}>
                {field}
              </button>{' '}
              {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** Goes to the field, or to the nearest one around it. */
function focusOn(field: string) {
  for (let path = field; path !== ''; path = path.replace(/(\.?[^.[\]]+|\[\d+\])$/, '')) {
    const found = document.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`)
    const own = found?.matches('input, textarea, select, button')
      ? found
      : found?.querySelector<HTMLElement>('input, textarea, select, button')
    if (own) {
      own.focus()
      own.scrollIntoView({ block: 'center' })
      return
    }
  }
}
