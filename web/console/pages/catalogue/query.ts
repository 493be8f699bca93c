import type { Search } from '../../data/address.ts'

/** One page of a list of the catalogue; the address has its cursor. */
export const pageQuery = ({ after }: Search) => ({ limit: 50, ...(after && { starting_after: after }) })
