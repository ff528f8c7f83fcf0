/*
 * The app imports its types from the endpoints, so their modules are also type-checked here, with the DOM's types
 * instead of workerd's.
 */
interface SubtleCrypto {
  timingSafeEqual(a: ArrayBuffer | ArrayBufferView, b: ArrayBuffer | ArrayBufferView): boolean
}
