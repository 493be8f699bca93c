// The only name of fetch's types that the generated client uses and Node's types lack. Users of the client have the name, or do not need it.
type BodyInit = NonNullable<RequestInit['body']>
