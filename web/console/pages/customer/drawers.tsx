import type { CustomerData } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { EditProperties } from './edit-properties.tsx'
import { EntryDrawer } from './entry-drawer.tsx'
import { Erase } from './erase.tsx'
import { GiveAccess } from './give-access.tsx'
import { Json } from './json.tsx'
import { TestEvent } from './test-event.tsx'
import { Why } from './why.tsx'

/** The drawer that the address names. */
export default function Drawers({ id, view, at }: { id: string; view: CustomerData; at: string }) {
  const [, set] = useAddress()
  const onClose = () => set({ at: undefined })
  switch (at) {
    case 'give':
      return <GiveAccess id={id} view={view} onClose={onClose} />
    case 'properties':
      return <EditProperties id={id} view={view} onClose={onClose} />
    case 'why':
      return <Why id={id} onClose={onClose} />
    case 'json':
      return <Json id={id} view={view} onClose={onClose} />
    case 'test-event':
      return <TestEvent id={id} onClose={onClose} />
    case 'erase':
      return <Erase id={id} onClose={onClose} />
    default:
      return <EntryDrawer key={at} id={id} at={at} onClose={onClose} />
  }
}
