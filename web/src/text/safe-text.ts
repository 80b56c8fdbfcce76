/** Characters that change the order in which a line is read: they could show another address or command than there is. */
const bidiControls = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

export function withoutBidi(text: string): string {
  return text.replace(bidiControls, '')
}

/** Where a link leads: the host if it is a web address, undefined for anything that must not be followed. */
export function hostOf(address: string | undefined): string | undefined {
  if (address === undefined) return undefined
  try {
    const { protocol, host } = new URL(withoutBidi(address))
    return protocol === 'https:' || protocol === 'http:' ? host : undefined
  } catch {
    return undefined
  }
}
