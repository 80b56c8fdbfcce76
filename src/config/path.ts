/** Where a value stands in the configuration: keys, and positions in lists. */
export type ConfigPath = readonly (string | number)[]

/** Writes a path as people type it: `models.main.apiKey`; a name with a dot stands in quotes. */
export function dotted(path: ConfigPath): string {
  return path.map((part) => (String(part).includes('.') ? `"${part}"` : String(part))).join('.')
}

/** Reads a path that people typed; nothing when it has an empty part or an open quote. */
export function segmentsOf(path: string): string[] | undefined {
  if (!/^(?:"[^"]+"|[^."]+)(?:\.(?:"[^"]+"|[^."]+))*$/.test(path)) return undefined
  return Array.from(path.matchAll(/"([^"]+)"|([^."]+)/g), ([, quoted, bare]) => quoted ?? bare ?? '')
}
