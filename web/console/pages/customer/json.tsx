import type { CustomerData } from '../../../../clients/typescript/src/index.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { JsonText } from '../../parts/json-text.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'

/** The answer of the API as it is. */
export const Json = ({ id, view, onClose }: { id: string; view: CustomerData; onClose: () => void }) => (
  <Drawer title={t('JSON')} onClose={onClose}>
    <div className="drawer-actions">
      <ShowTheCall name="v4GetCustomer" input={{ path: { customer_id: id } }} />
    </div>
    <JsonText value={view} />
  </Drawer>
)
