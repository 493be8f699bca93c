import findMyWay from 'find-my-way'

/** A radix tree without routes. Untyped, so that the type check does not need the packages of the peers. */
export const searchTree = () => findMyWay({ maxParamLength: 16_384 })
