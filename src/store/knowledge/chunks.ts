/** Splits values into lists without duplicates that are short enough for one condition of a query. */
export function chunksOf<T>(all: readonly T[], size = 5000): T[][] {
  const unique = [...new Set(all)]
  return Array.from({ length: Math.ceil(unique.length / size) }, (_, at) => unique.slice(at * size, (at + 1) * size))
}
