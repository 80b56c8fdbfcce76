/** `npm run long` plays proofs at their full length; `npm test` a part of each that has every kind of case. */
export const isLong = process.env['LONG'] !== undefined
