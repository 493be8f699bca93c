import { useAddress } from '../../data/address.ts'
import { Id } from '../../parts/copy.tsx'
import { NotHere } from '../../parts/not-here.tsx'
import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'

/** There is nobody of this id. Nothing is left that could say whether there ever was: an erased person is gone. */
export function NoSuchCustomer({ id }: { id: string }) {
  const [{ erased }] = useAddress()
  const title = erased ? t('This customer is erased') : t('There is no such customer here')
  const why = erased
    ? t(
        'The person, what they bought and what they did are deleted, and figures have lost their part. Stored files of exports are being rewritten. The audit log knows the erasure, with a pseudonym instead of the id.',
      )
    : t('The id is wrong, it belongs to another project or environment, or the person was erased: nothing is kept that could tell.')
  return (
    <Page title={title} about={<Id>{id}</Id>}>
      <NotHere icon="user" title={title} why={why} to="/customers" all={t('All customers')} />
    </Page>
  )
}
