/** A value that is made when it is first asked for. For schemas: to make one takes longer than to check a value by it. */
export function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
