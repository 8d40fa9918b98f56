// Style sheets are texts.
declare module "*.css" {
  const text: string;
  export default text;
}
