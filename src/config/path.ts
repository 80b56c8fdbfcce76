/** Path of a value in the configuration: keys and list indexes. */
export type ConfigPath = readonly (string | number)[]

/** Formats a path as `models.main.apiKey`; a name with a dot is quoted. */
export function formatPath(path: ConfigPath): string {
  return path.map((part) => (String(part).includes('.') ? `"${part}"` : String(part))).join('.')
}

/** Parses a typed path; undefined if it has an empty part or an open quote. */
export function parsePath(path: string): string[] | undefined {
  if (!/^(?:"[^"]+"|[^."]+)(?:\.(?:"[^"]+"|[^."]+))*$/.test(path)) return undefined
  return Array.from(path.matchAll(/"([^"]+)"|([^."]+)/g), ([, quoted, bare]) => quoted ?? bare ?? '')
}
