import { purchasesNow } from '../../catalogue/products/uses.ts'
import { automationUses } from '../../kernel/references/automation-naming.ts'
import { CONDITIONS_ON_ENTITLEMENT } from '../../kernel/references/condition-uses.ts'
import type { UseSource } from '../../kernel/references/uses.ts'

/** What names an entitlement. */
export const ENTITLEMENT_USES: readonly UseSource[] = [automationUses('entitlement'), ...CONDITIONS_ON_ENTITLEMENT]

/** In SQL: the grants of the entitlement $2, and whether each is active. */
export const GRANTS = `
  select g.user_id, g.expires_at is null or g.expires_at > t as gives from grants g cross join environment_now($1) t
  where g.environment = $1 and g.entitlement_id = $2`

export const ENTITLEMENT_COUNTS = {
  active_purchases: purchasesNow('in (select product_id from entitlement_products where environment = $1 and entitlement_id = $2)'),
  active_grants: GRANTS,
}
