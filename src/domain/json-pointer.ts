/* The steps of a JSON Pointer (RFC 6901), which are separated by slashes. */

/** A field's name, or an item's index, as a step. */
export const escapePointerStep = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** The name in a step. */
export const unescapePointerStep = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~')
