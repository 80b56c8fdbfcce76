/** Copies a text. False where the browser allows it not: without a secure context, or while another window has the focus. */
export async function copyToClipboard(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard === undefined) return false
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
