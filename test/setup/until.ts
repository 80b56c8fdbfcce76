/** Resolves as soon as something is so, looked at in each turn of the event loop: for what gives no sign of its own. */
export async function untilSo(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise(setImmediate)
}
