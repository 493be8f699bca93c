import { useAddress } from '../../data/address.ts'
import { Card } from '../../parts/card.tsx'
import { Id } from '../../parts/copy.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'

/** There is nobody of this id. Nothing is left that could say whether there ever was: an erased person is gone. */
export function NotHere({ id }: { id: string }) {
  const [{ erased }] = useAddress()
  const title = erased ? t('This customer is erased') : t('There is no such customer here')
  const why = erased
    ? t(
        'The person, what they bought and what they did are deleted, and figures have lost their part. Stored files of exports are being rewritten. The audit log knows the erasure, with a pseudonym instead of the id.',
      )
    : t('The id is wrong, it belongs to another project or environment, or the person was erased: nothing is kept that could tell.')
  return (
    <Page title={title} about={<Id>{id}</Id>}>
      <Card>
        <Empty
          icon="user"
          title={title}
          why={why}
          action={
            <To to="/customers" className="link">
              {t('All customers')}
            </To>
          }
        />
      </Card>
    </Page>
  )
}
